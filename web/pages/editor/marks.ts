import type { FlowCheck, FlowProblem } from "../../api/flows.ts";
import { edgesOf, graphAt, isObject, nodesOf, valueAt } from "../../flow/access.ts";
import type { FlowDocument, Path, Scope } from "../../flow/document.ts";
import { edgeId, type Marks } from "./canvas/graph-view.ts";

/** How many problems each node has, by path. */
export function marksOf(problems: readonly FlowProblem[]): ReadonlyMap<string, Marks> {
  const marks = new Map<string, Marks>();
  for (const { node_path, severity, message } of problems) {
    if (node_path === null) continue;
    const { errors = 0, warnings = 0, problem = message } = marks.get(node_path) ?? {};
    marks.set(node_path, {
      errors: errors + (severity === "error" ? 1 : 0),
      warnings: warnings + (severity === "warning" ? 1 : 0),
      problem,
    });
  }
  return marks;
}

/** The edges that the last check says do not fit, by the canvas's IDs. */
export function misfitsOf(document: FlowDocument, { scope, isCurrent }: FlowCheck): ReadonlySet<string> {
  const found = new Set<string>();
  if (!isCurrent) return found;
  for (const { path, fits } of scope?.edges ?? []) {
    if (fits) continue;
    const around = scopeOf(document, path);
    const edge = valueAt(document, path);
    if (isObject(edge))
      for (const each of edgesOf(graphAt(document, around))) if (each === edge) found.add(edgeId(around, each));
  }
  return found;
}

/** The flow that a path of the document leads into: `nodes, 3, config, flow, edges, 0`. */
function scopeOf(document: FlowDocument, path: Path): Scope {
  const scope: string[] = [];
  for (let at = 0; path[at] === "nodes" && path[at + 2] === "config" && path[at + 3] === "flow"; at += 4) {
    const node = valueAt(document, path.slice(0, at + 2));
    if (!isObject(node) || typeof node["id"] !== "string") break;
    scope.push(node["id"]);
  }
  return scope;
}

/** The part of a problem's path below its node: `config, template`. */
export function pathBelowNode(document: FlowDocument, { path, node_path }: FlowProblem): Path {
  if (node_path === null) return [];
  const depth = node_path.split("/").length;
  const start = 4 * (depth - 1);
  const { length } = nodesOf(document);
  if (length === 0 || path[start] !== "nodes") return [];
  return path.slice(start + 2);
}
