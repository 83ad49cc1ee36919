import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAst } from "vitest/node";
import { sourceFiles } from "./imports.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Files that match trusted texts with patterns from Millrace's own schemas, which are literals elsewhere. */
const OWN_SCHEMAS = ["src/api/http/openapi/examples.ts"];

/** A regular expression in the source code. */
export interface SourcePattern {
  /** "src/domain/uuid.ts:4" */
  readonly where: string;
  readonly source: string;
  readonly flags: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [member: string]: unknown;
}

/** Constants of a module: those declared at its top level, and imported ones. */
type Constants = (name: string) => string | number | undefined;

/**
 * Every regular expression in the folders: literals, and arguments of `new RegExp`. Throws if an argument is not built
 * from constants, because such a pattern cannot be checked.
 */
export function sourcePatterns(...folders: readonly string[]): SourcePattern[] {
  return sourceFiles(...folders).flatMap(patternsOf);
}

function patternsOf(file: string): SourcePattern[] {
  const text = readFileSync(join(root, file), "utf8");
  const program = parse(file);
  const constants = constantsOf(file);
  const found: SourcePattern[] = [];
  walk(program, (node) => {
    const where = `${file}:${text.slice(0, node.start).split("\n").length}`;
    const literal = node["regex"] as { readonly pattern: string; readonly flags: string } | undefined;
    if (node.type === "Literal" && literal) found.push({ where, source: literal.pattern, flags: literal.flags });
    const callee = node["callee"] as Node | undefined;
    if ((node.type !== "NewExpression" && node.type !== "CallExpression") || callee?.["name"] !== "RegExp") return;
    const [pattern, flags] = node["arguments"] as Node[];
    const source = pattern && valueOf(pattern, constants);
    if (source === undefined && OWN_SCHEMAS.includes(file)) return;
    if (source === undefined) throw new Error(`${where}: a pattern is made of what is known only at run time`);
    found.push({ where, source: String(source), flags: flags ? String(valueOf(flags, constants)) : "" });
  });
  return found;
}

const parsed = new Map<string, Node>();

function parse(file: string): Node {
  let program = parsed.get(file);
  if (!program) {
    program = parseAst(readFileSync(join(root, file), "utf8"), { lang: "ts" }) as unknown as Node;
    parsed.set(file, program);
  }
  return program;
}

function constantsOf(file: string): Constants {
  const body = parse(file)["body"] as Node[];
  const known: Constants = (name) => {
    for (const statement of body) {
      const from = statement.type === "ImportDeclaration" ? String((statement["source"] as Node)["value"]) : "";
      for (const { local, imported } of from.startsWith(".") ? (statement["specifiers"] as Record<string, Node>[]) : [])
        if (local?.["name"] === name)
          return constantsOf(join(dirname(file), from))((imported?.["name"] as string | undefined) ?? name);
      const declaration = (
        statement.type === "ExportNamedDeclaration" ? statement["declaration"] : statement
      ) as Node | null;
      for (const { id, init } of declaration?.type === "VariableDeclaration"
        ? (declaration["declarations"] as Array<Readonly<Record<string, Node>>>)
        : [])
        if (id?.["name"] === name && init) return valueOf(init, known);
    }
    return undefined;
  };
  return known;
}

/** The value of an expression of constants; undefined for any other. */
function valueOf(node: Node, constants: Constants): string | number | undefined {
  const all = (nodes: unknown): Array<string | number> | undefined => {
    const values = (nodes as Node[]).map((each) => valueOf(each, constants));
    return values.includes(undefined) ? undefined : (values as Array<string | number>);
  };
  switch (node.type) {
    case "Literal":
      return node["value"] as string | number;
    case "Identifier":
      return constants(String(node["name"]));
    case "TemplateLiteral": {
      const values = all(node["expressions"]);
      const texts = (node["quasis"] as Node[]).map(({ value }) => (value as { readonly cooked: string }).cooked);
      return values && texts.map((text, at) => text + String(values[at] ?? "")).join("");
    }
    // String.raw`…`
    case "TaggedTemplateExpression": {
      const { expressions, quasis } = node["quasi"] as Readonly<Record<string, Node[]>>;
      const values = (node["tag"] as Node)["object"] === undefined ? undefined : all(expressions);
      const texts = (quasis ?? []).map(({ value }) => (value as { readonly raw: string }).raw);
      return values && texts.map((text, at) => text + String(values[at] ?? "")).join("");
    }
    case "BinaryExpression": {
      const [left, right] = all([node["left"], node["right"]]) ?? [];
      if (left === undefined || right === undefined || node["operator"] !== "+") return undefined;
      return typeof left === "number" && typeof right === "number" ? left + right : `${left}${right}`;
    }
    // ["a", "b"].join("|")
    case "CallExpression": {
      const { object, property } = node["callee"] as Readonly<Record<string, Node>>;
      if (object?.type !== "ArrayExpression" || property?.["name"] !== "join") return undefined;
      const [between] = all(node["arguments"]) ?? [];
      return all(object["elements"])?.join(String(between));
    }
    default:
      return undefined;
  }
}

function walk(node: unknown, visit: (node: Node) => void): void {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) for (const each of node) walk(each, visit);
  else {
    if (typeof (node as Node).type === "string") visit(node as Node);
    for (const member of Object.values(node)) walk(member, visit);
  }
}
