import { cachedByText } from "../cache.ts";
import { patternSize } from "../pattern-size.ts";
import { parsedCel } from "./parser.ts";
import type { CelNode, MethodCall } from "./ast.ts";
import { MACROS } from "./macros.ts";

/** How the work of an expression grows: `weight` times the size of the values to the power of `degree`. */
export interface CelCost {
  readonly weight: number;
  readonly degree: number;
}

/** Most instructions of a pattern that may be compiled and matched in a workflow. */
const MAX_CHEAP_PATTERN = 300;
/** Searching one text in another can take longer than reading both. */
const SEARCH_WEIGHT = 8;
const SEARCHES: ReadonlySet<string> = new Set(["contains", "indexOf", "lastIndexOf", "split"]);
const MAX_DEGREE = 2;
const UNBOUNDED: CelCost = { weight: Number.POSITIVE_INFINITY, degree: 1 };
const NOTHING: CelCost = { weight: 0, degree: 1 };

const both = (costs: readonly CelCost[], own = 0): CelCost => ({
  weight: costs.reduce((sum, { weight }) => sum + weight, own),
  degree: Math.max(1, ...costs.map(({ degree }) => degree)),
});

/** The lengths of literal texts, or undefined if one of the nodes is not a literal text. */
const literalChars = (nodes: readonly CelNode[]): number | undefined => {
  let chars = 0;
  for (const node of nodes) {
    if (node.kind !== "literal") return undefined;
    chars += typeof node.value === "string" ? node.value.length : 1;
  }
  return chars;
};

/** The parts an expression is made of; a macro is a call here. */
export const childrenOf = (node: CelNode): readonly CelNode[] => {
  switch (node.kind) {
    case "literal":
    case "variable":
      return [];
    case "select":
    case "unary":
      return [node.operand];
    case "index":
      return [node.operand, node.key];
    case "call":
      return node.target === undefined ? node.args : [node.target, ...node.args];
    case "list":
      return node.items;
    case "map":
      return node.entries.flat();
    case "binary":
      return [node.left, node.right];
    case "conditional":
      return [node.test, node.yes, node.no];
    default:
      return node satisfies never;
  }
};

/** Whether an expression reads anything but `name`. A nested macro's element variable counts as something else. */
const readsMoreThan = (name: string, node: CelNode): boolean => {
  if (node.kind === "variable") return node.name !== name;
  if (isMacro(node)) {
    const [variable, ...body] = node.args;
    const inner = variable?.kind === "variable" ? variable.name : name;
    return readsMoreThan(name, node.target) || body.some((part) => readsMoreThan(inner, part));
  }
  return childrenOf(node).some((child) => readsMoreThan(name, child));
};

export const isMacro = (node: CelNode): node is MethodCall =>
  node.kind === "call" && node.target !== undefined && MACROS.has(node.name);

/**
 * A body that reads only its own element reads each part of the list once; a body that reads anything else may read all of that for each
 * element.
 */
const costOfMacro = (node: MethodCall): CelCost => {
  const [variable, ...body] = node.args;
  const range = costOf(node.target);
  const inner = both(body.map(costOf), 1);
  const name = variable?.kind === "variable" ? variable.name : "";
  const again = body.some((part) => readsMoreThan(name, part)) ? 1 : 0;
  return { weight: (1 + range.weight) * (1 + inner.weight), degree: range.degree + inner.degree - 1 + again };
};

const costOfCall = (node: CelNode<"call">): CelCost => {
  const all = both(childrenOf(node).map(costOf), SEARCHES.has(node.name) ? SEARCH_WEIGHT : 1);
  const [first, ...others] = node.args;
  switch (node.name) {
    case "matches": {
      const pattern = node.target === undefined ? others[0] : first;
      const source = pattern?.kind === "literal" ? pattern.value : undefined;
      const instructions = typeof source === "string" ? patternSize(source) : Number.POSITIVE_INFINITY;
      return instructions > MAX_CHEAP_PATTERN ? UNBOUNDED : { ...all, weight: all.weight + instructions };
    }
    case "join":
    case "replace": {
      // The inserted text is repeated as often as the separator or match occurs.
      const chars = literalChars(node.args);
      return chars === undefined
        ? { ...all, degree: all.degree + 1 }
        : { ...all, weight: SEARCH_WEIGHT + all.weight * (1 + chars) };
    }
    default:
      return all;
  }
};

const costOf = (node: CelNode): CelCost => {
  if (isMacro(node)) return costOfMacro(node);
  switch (node.kind) {
    case "literal":
    case "variable":
      return NOTHING;
    case "select":
    case "index":
    case "conditional":
      return both(childrenOf(node).map(costOf));
    case "call":
      return costOfCall(node);
    default:
      return both(childrenOf(node).map(costOf), 1);
  }
};

const cost = (source: string): CelCost => {
  const parsed = parsedCel(source);
  // An invalid expression fails immediately, so it costs nothing.
  const known = parsed === undefined ? NOTHING : costOf(parsed);
  return known.degree > MAX_DEGREE ? UNBOUNDED : known;
};

/** An upper bound on the work of an expression, from its text alone; the weight is infinite if there is no bound. */
export const celCost: (source: string) => CelCost = cachedByText(cost);
