import { ownMember } from "../../json.ts";
import type { FlowLimits } from "../definition/limits.ts";
import { reportPlanTooLarge, shorten, type Path, type ProblemList } from "./problems.ts";

/** Deepest nesting of a definition's JSON: five nested flows take 25 levels; the rest is for forms and request bodies. */
const MAX_JSON_DEPTH = 100;

/** Most values in a definition, where values in lists count twice. A thousand nodes have some tens of thousands. */
const MAX_JSON_VALUES = 500_000;

/** Longest `ui`, as JSON text (characters). It is not part of the compiled flow, so that limit does not hold it. */
const MAX_UI_CHARS = 1024 * 1024;

/**
 * Examines a definition before any schema does: limits its size and depth, and finds values that are not JSON and forbidden keys.
 * Iterative, so that no depth overflows the stack. Returns whether further checks make sense.
 */
export function measureDocument(input: unknown, problems: ProblemList): boolean {
  const open: Array<{ value: unknown; path: Link | null; depth: number }> = [{ value: input, path: null, depth: 0 }];
  let values = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, path, depth } = next;
    values += Array.isArray(value) ? value.length + 1 : 1;
    if (values > MAX_JSON_VALUES) {
      problems.add({ code: "too_large", path: [], message: `A flow can have at most ${MAX_JSON_VALUES} values` });
      return false;
    }
    if (depth > MAX_JSON_DEPTH) {
      const message = `A flow can be nested at most ${MAX_JSON_DEPTH} levels deep`;
      problems.add({ code: "too_deep", path: [], message });
      return false;
    }
    if (!isJsonish(value)) {
      problems.add({ code: "not_json", path: toPath(path), message: `A ${typeof value} is not a JSON value` });
      return false;
    }
    if (typeof value !== "object" || value === null) continue;
    const isList = Array.isArray(value);
    for (const [key, member] of isList ? value.entries() : Object.entries(value as Record<string, unknown>)) {
      const here: Link = { key, up: path };
      if (key === "__proto__") {
        problems.add({ code: "forbidden_key", path: toPath(here), message: 'A field cannot be named "__proto__"' });
        continue;
      }
      // Unlike an object's field, a list's item cannot be omitted, so undefined in a list is an error.
      open.push({ value: isList && member === undefined ? ABSENT : member, path: here, depth: depth + 1 });
    }
  }
  // Only now, because JSON.stringify needs a value that is neither too deep nor circular.
  const ui = JSON.stringify(ownMember(input, "ui") ?? null).length;
  if (ui <= MAX_UI_CHARS) return true;
  const message = `\`ui\` has ${ui} characters of JSON; the limit is ${MAX_UI_CHARS}`;
  problems.add({ code: "too_large", path: ["ui"], message, hint: "Shorten the sticky notes" });
  return false;
}

const ABSENT = Symbol("absent");

/** A path as a linked list, so that a step costs the same at any depth. */
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
    // Undefined counts as omitted, for callers that build definitions in code.
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
 * Counts nodes in all nested flows and their nesting depth, without any schema. Returns whether the flow is within the limits; if not, it
 * is not checked further.
 */
export function measureGraphs(input: unknown, limits: FlowLimits, problems: ProblemList): boolean {
  const open: Array<{ graph: unknown; path: Path; depth: number }> = [{ graph: input, path: [], depth: 0 }];
  let nodes = 0;
  let within = true;
  for (let next = open.pop(); next; next = open.pop()) {
    const { graph, path, depth } = next;
    const list = ownMember(graph, "nodes");
    if (!Array.isArray(list)) continue;
    nodes += list.length;
    if (nodes > limits.max_nodes) {
      const message = `A flow can have at most ${limits.max_nodes} nodes, including nested flows`;
      const hint = "Split the flow and call the parts with subflow nodes";
      problems.add({ code: "too_many_nodes", path: ["nodes"], message, hint });
      return false;
    }
    for (const [index, node] of list.entries()) {
      const flow = ownMember(ownMember(node, "config"), "flow");
      if (flow === undefined) continue;
      const place = [...path, "nodes", index, "config", "flow"];
      if (depth >= limits.max_nesting) {
        const message = `Maps and loops can be nested at most ${limits.max_nesting} levels deep`;
        problems.add({ code: "nesting_too_deep", path: place, message });
        within = false;
      } else open.push({ graph: flow, path: place, depth: depth + 1 });
    }
  }
  return within;
}

/**
 * Adds up the configurations of all nodes. The compiled flow contains them, so if they alone exceed its limit, parsing and compiling are
 * pointless. For definitions that measureDocument has accepted.
 */
export function measureConfigs(input: unknown, limits: FlowLimits, problems: ProblemList): boolean {
  const open: unknown[] = [input];
  let chars = 0;
  while (open.length > 0) {
    const list = ownMember(open.pop(), "nodes");
    for (const node of Array.isArray(list) ? list : []) {
      const config = ownMember(node, "config");
      if (typeof config !== "object" || config === null) continue;
      const { flow, ...own } = config as Readonly<Record<string, unknown>>;
      chars += JSON.stringify(own).length;
      if (flow !== undefined) open.push(flow);
    }
  }
  if (chars > limits.max_plan_bytes) reportPlanTooLarge(problems, `more than ${chars}`, limits);
  return chars <= limits.max_plan_bytes;
}
