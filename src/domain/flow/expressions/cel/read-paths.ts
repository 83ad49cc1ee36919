import type { Json } from "../../../json.ts";
import type { ReadPath } from "../../scope.ts";
import type { CelNode } from "./ast.ts";
import { childrenOf, isMacro } from "./cost.ts";
import { parsedCel } from "./parser.ts";

/** The paths that an expression reads, each as far as its text determines it. Empty for an invalid expression. */
export function celReadPaths(source: string): ReadPath[] {
  const paths = new Map<string, ReadPath>();
  const add = (path: ReadPath, hidden: ReadonlySet<string>): void => {
    if (!hidden.has(String(path[0]))) paths.set(JSON.stringify(path), path);
  };

  function visit(node: CelNode, hidden: ReadonlySet<string>): void {
    const path = pathOf(node);
    if (path !== undefined) return add(path, hidden);
    if (node.kind === "call" && node.name === "has" && node.args[0]?.kind === "select") {
      // `has()` asks whether the last field exists, so that field does not count as read.
      return visit(node.args[0].operand, hidden);
    }
    if (isMacro(node)) {
      const [variable, ...body] = node.args;
      visit(node.target, hidden);
      const inner = variable?.kind === "variable" ? new Set([...hidden, variable.name]) : hidden;
      for (const part of body) visit(part, inner);
      return;
    }
    for (const child of childrenOf(node)) visit(child, hidden);
  }

  const parsed = parsedCel(source);
  if (parsed !== undefined) visit(parsed, new Set());
  return [...paths.values()];
}

/** The path, if the expression is nothing but a path such as `a.b`; otherwise undefined. */
export function celPathOf(source: string): ReadPath | undefined {
  const parsed = parsedCel(source);
  return parsed && pathOf(parsed);
}

/** The value, if the expression is nothing but a text, number, `true`, `false` or `null`; otherwise undefined. */
export function celLiteralOf(source: string): Json | undefined {
  const parsed = parsedCel(source);
  if (parsed?.kind !== "literal") return undefined;
  const { value } = parsed;
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : undefined;
  return value instanceof Uint8Array ? undefined : value;
}

function pathOf(node: CelNode): ReadPath | undefined {
  if (node.kind === "variable") return [node.name];
  if (node.kind !== "select" && node.kind !== "index") return undefined;
  const key = node.kind === "select" ? node.field : keyOf(node.key);
  const path = key === undefined ? undefined : pathOf(node.operand);
  return key === undefined || path === undefined ? undefined : [...path, key];
}

function keyOf(node: CelNode): string | number | undefined {
  if (node.kind !== "literal") return undefined;
  if (typeof node.value === "bigint") return Number(node.value);
  return typeof node.value === "string" || typeof node.value === "number" ? node.value : undefined;
}
