import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

export interface Import {
  /** The importing file, by its path from the root. */
  readonly from: string;
  /** A package ("@temporalio/client", "node:fs"), or a file by its path from the root. */
  readonly to: string;
  readonly isFile: boolean;
  /** Whether compilation removes the import. */
  readonly typeOnly: boolean;
}

/** Every TypeScript file in the folders, by its path from the root. */
export function sourceFiles(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".d.ts"))
      .map((name) => join(folder, name)),
  );
}

const STATIC = /^(?:import|export)\s+(type\s+)?(?:([\w*\s{},$]*?)\s+from\s+)?"([^"]+)"/gm;
const DYNAMIC = /\bimport\(\s*"([^"]+)"\s*\)/g;

/** The imports and re-exports of a file. Type imports are marked in the source (verbatimModuleSyntax), so the text shows them. */
export function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), "utf8");
  const made = (specifier: string, typeOnly: boolean): Import => {
    const isFile = specifier.startsWith(".");
    const to = isFile ? relative(root, join(root, dirname(file), specifier)) : packageOf(specifier);
    return { from: file, to, isFile, typeOnly };
  };
  return [
    ...[...text.matchAll(STATIC)].map((match) =>
      made(match[3] ?? "", match[1] !== undefined || onlyTypes(match[2] ?? "")),
    ),
    ...[...text.matchAll(DYNAMIC)].map((match) => made(match[1] ?? "", false)),
  ];
}

/** Whether every name in `{ type A, type B }` is a type. */
function onlyTypes(clause: string): boolean {
  const names = /^\{([^}]*)\}$/.exec(clause.trim())?.[1]?.split(",") ?? [];
  const given = names.map((name) => name.trim()).filter((name) => name !== "");
  return given.length > 0 && given.every((name) => name.startsWith("type "));
}

function packageOf(specifier: string): string {
  if (specifier.startsWith("node:")) return specifier;
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

/** A file's code without comments, strings and templates. */
export function codeOf(file: string): string {
  const text = readFileSync(join(root, file), "utf8");
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g, " ");
}

/** Groups of files with circular imports, of values or types (Tarjan's strongly connected components). */
export function circles(files: readonly string[]): string[][] {
  const order = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): number => {
    const number = order.size;
    order.set(file, number);
    let low = number;
    stack.push(file);
    for (const { to, isFile } of importsOf(file)) {
      if (!isFile || !files.includes(to)) continue;
      if (!order.has(to)) low = Math.min(low, visit(to));
      else if (stack.includes(to)) low = Math.min(low, order.get(to) ?? 0);
    }
    if (low === number) {
      const circle = stack.splice(stack.indexOf(file));
      if (circle.length > 1) found.push(circle);
    }
    return low;
  };
  for (const file of files) if (!order.has(file)) visit(file);
  return found;
}
