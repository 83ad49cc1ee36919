import type { FlowLimits } from "../definition/limits.ts";
import { reportPlanTooLarge, shorten, type Path, type ProblemList } from "./problems.ts";

/** Nesting of a definition's JSON: five nested flows take 25 levels, the rest is for forms and bodies. */
const MAX_JSON_DEPTH = 100;

/** Values in a definition, those in lists counted twice; a thousand nodes have some tens of thousands. */
const MAX_JSON_VALUES = 500_000;

/**
 * Looks over a definition before any schema does: bounds its size and depth, and finds what is not JSON and keys that
 * no object may have. Iterative, so that no depth exhausts the stack. Returns whether the rest is worth looking at.
 */
export function measureDocument(input: unknown, problems: ProblemList): boolean {
  const open: Array<{ value: unknown; path: Link | null; depth: number }> = [{ value: input, path: null, depth: 0 }];
  let values = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, path, depth } = next;
    values += Array.isArray(value) ? value.length + 1 : 1;
    if (values > MAX_JSON_VALUES) {
      problems.add({ code: "too_large", path: [], message: `A flow has at most ${MAX_JSON_VALUES} values` });
      return false;
    }
    if (depth > MAX_JSON_DEPTH) {
      problems.add({ code: "too_deep", path: [], message: `A flow is nested at most ${MAX_JSON_DEPTH} deep` });
      return false;
    }
    if (!isJsonish(value)) {
      problems.add({ code: "not_json", path: toPath(path), message: `A ${typeof value} is not a JSON value` });
      return false;
    }
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) {
      for (const [key, member] of value.entries()) {
        // A list cannot leave out a member as an object can.
        open.push({
          value: member === undefined ? ABSENT : (member as unknown),
          path: { key, up: path },
          depth: depth + 1,
        });
      }
      continue;
    }
    for (const key of Object.keys(value)) {
      const here: Link = { key, up: path };
      if (key === "__proto__") {
        problems.add({ code: "forbidden_key", path: toPath(here), message: 'No member may be called "__proto__"' });
      } else open.push({ value: (value as Record<string, unknown>)[key], path: here, depth: depth + 1 });
    }
  }
  return true;
}

const ABSENT = Symbol("absent");

/** A path kept as a chain, so that a step costs the same at any depth. */
interface Link {
  readonly key: string | number;
  readonly up: Link | null;
}

function toPath(link: Link | null): Path {
  const path: Array<string | number> = [];
  for (let at = link; at; at = at.up) path.push(typeof at.key === "string" ? shorten(at.key) : at.key);
  return path.toReversed();
}

function isJsonish(value: unknown): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
    // A member that is undefined is one that is absent, for callers that build definitions in code.
    case "undefined":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object": {
      if (value === null || Array.isArray(value)) return true;
      const prototype: unknown = Object.getPrototypeOf(value);
      return prototype === null || prototype === Object.prototype;
    }
    default:
      return false;
  }
}

/**
 * Counts nodes through all nested flows, and the depth of their nesting, without any schema. Returns whether
 * the flow is within limits; one that is not is not checked further.
 */
export function measureGraphs(input: unknown, limits: FlowLimits, problems: ProblemList): boolean {
  const open: Array<{ graph: unknown; path: Path; depth: number }> = [{ graph: input, path: [], depth: 0 }];
  let nodes = 0;
  let within = true;
  for (let next = open.pop(); next; next = open.pop()) {
    const { graph, path, depth } = next;
    const list = member(graph, "nodes");
    if (!Array.isArray(list)) continue;
    nodes += list.length;
    if (nodes > limits.max_nodes) {
      const message = `A flow has at most ${limits.max_nodes} nodes, including nested flows`;
      problems.add({
        code: "too_many_nodes",
        path: ["nodes"],
        message,
        hint: "Split it, and call the parts by subflow nodes",
      });
      return false;
    }
    for (const [index, node] of list.entries()) {
      const flow = member(member(node, "config"), "flow");
      if (flow === undefined) continue;
      const place = [...path, "nodes", index, "config", "flow"];
      if (depth >= limits.max_nesting) {
        const message = `Maps and loops stand at most ${limits.max_nesting} deep in one another`;
        problems.add({ code: "nesting_too_deep", path: place, message });
        within = false;
      } else open.push({ graph: flow, path: place, depth: depth + 1 });
    }
  }
  return within;
}

/**
 * Adds up the configurations of nodes. The compiled flow contains all of them: if they alone exceed its limit,
 * nothing needs to be parsed or compiled. For documents that measureDocument has accepted.
 */
export function measureConfigs(input: unknown, limits: FlowLimits, problems: ProblemList): boolean {
  const open: unknown[] = [input];
  let chars = 0;
  while (open.length > 0) {
    const list = member(open.pop(), "nodes");
    for (const node of Array.isArray(list) ? list : []) {
      const config = member(node, "config");
      if (typeof config !== "object" || config === null) continue;
      const { flow, ...own } = config as Readonly<Record<string, unknown>>;
      chars += JSON.stringify(own).length;
      if (flow !== undefined) open.push(flow);
    }
  }
  if (chars > limits.max_plan_bytes) reportPlanTooLarge(problems, `more than ${chars}`, limits);
  return chars <= limits.max_plan_bytes;
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
