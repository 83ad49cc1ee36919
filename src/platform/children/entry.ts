import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The compiled file of a child's entry. `url` is that of the entry's module, as in `new URL("./child.ts", import.meta.url)`. In compiled
 * code it lies beside its caller, as .js; where sources run directly (tests) it is the file that `npm run build` has put under dist/,
 * because a child is a plain Node process and cannot run TypeScript.
 */
export function compiledEntry(url: URL): string {
  const path = fileURLToPath(url).replace(/\.ts$/, ".js");
  if (existsSync(path)) return path;
  const root = packageRoot(path);
  const compiled = join(root, "dist", relative(root, path));
  if (!existsSync(compiled)) throw new Error(`${compiled} is missing: run \`npm run build\` first.`);
  return compiled;
}

/** The files a child may read: compiled code and the packages it loads, but not the data beside them. */
export function readableByChild(entry: string, packages: readonly string[]): string[] {
  const root = packageRoot(entry);
  const require = createRequire(entry);
  const installed = packages.map((name) => {
    const path = realpathSync(require.resolve(name));
    return path.slice(0, path.lastIndexOf(`${sep}node_modules${sep}`) + `${sep}node_modules`.length);
  });
  const own = [join(root, "dist"), join(root, "package.json"), join(root, "node_modules")];
  return [...new Set([...own, ...installed])];
}

function packageRoot(path: string): string {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
  }
  throw new Error(`No package.json found above ${path}.`);
}
