import { edgeSchema, handleOf, type FlowEdge } from "../definition/definition.ts";
import { addSchemaIssues, shorten, WITH_INPUT, type Path, type ProblemList } from "./problems.ts";
import type { CheckedNode } from "./validate-node.ts";

/** An edge between existing nodes. */
export interface CheckedEdge {
  readonly edge: FlowEdge;
  readonly path: Path;
}

/** Checks one edge; returns it if both its nodes exist. */
export function checkEdge(
  raw: unknown,
  path: Path,
  nodes: readonly CheckedNode[],
  positions: ReadonlyMap<string, number>,
  problems: ProblemList,
): CheckedEdge | undefined {
  const shape = edgeSchema.safeParse(raw, WITH_INPUT);
  if (!shape.success) {
    addSchemaIssues(problems.of(path, undefined), shape.error.issues);
    return undefined;
  }
  const edge = shape.data;
  for (const end of ["source", "target"] as const) {
    if (positions.has(edge[end])) continue;
    problems.add({ code: "unknown_node", path: [...path, end], message: `Node "${shorten(edge[end])}" not found` });
  }
  const source = nodes[positions.get(edge.source) ?? -1];
  const target = nodes[positions.get(edge.target) ?? -1];
  if (source) reportHandle(edge, source, path, problems);
  if (!source || !target) return undefined;
  if (source === target) {
    const message = "An edge cannot connect a node to itself";
    problems.add({ code: "self_edge", path, node_id: edge.source, message, hint: "To repeat something, use a loop" });
    return undefined;
  }
  // A text input is available from the start, so an edge into it is an error. Edges into nodes that load a page or documents are useful,
  // because a branch can avoid that work.
  if (target.spec?.target === false) {
    const message = `"${edge.target}" is an input and cannot have incoming edges`;
    problems.add({ code: "edge_into_input", path, node_id: edge.target, message });
  }
  return { edge, path };
}

function reportHandle(edge: FlowEdge, source: CheckedNode, path: Path, problems: ProblemList): void {
  const handle = handleOf(edge);
  if (!source.handles) return;
  const place = { path: [...path, "source_handle"], node_id: edge.source };
  const config = source.node?.config;
  if (source.handles.includes(handle)) {
    if (handle === "timeout" && config?.["on_timeout"] !== "branch") {
      const message = "This edge is never taken";
      const hint = 'Set on_timeout to "branch"';
      problems.add({ ...place, code: "dead_handle", severity: "warning", message, hint });
    }
  } else if (handle === "error") {
    const message = `"${edge.source}" has no "error" handle because its on_error is not "branch"`;
    problems.add({ ...place, code: "error_edge_without_branch", message, hint: 'Set its on_error to "branch"' });
  } else {
    const message = `"${edge.source}" has no handle "${shorten(handle)}"`;
    const hint = `Its handles are ${source.handles.slice(0, 20).join(", ")}`;
    problems.add({ ...place, code: "unknown_handle", message, hint });
  }
}

export function reportDuplicates(edges: readonly CheckedEdge[], problems: ProblemList): void {
  const seen = new Set<string>();
  for (const { edge, path } of edges) {
    const key = JSON.stringify([edge.source, handleOf(edge), edge.target]);
    if (!seen.has(key)) seen.add(key);
    else problems.add({ code: "duplicate_edge", path, node_id: edge.source, message: "Duplicate edge" });
  }
}

/** Warns of `error` branches without an edge. */
export function reportErrorBranches(
  nodes: readonly CheckedNode[],
  edges: readonly FlowEdge[],
  problems: ProblemList,
): void {
  const connected = new Set(edges.filter((edge) => handleOf(edge) === "error").map((edge) => edge.source));
  for (const { id, node, path } of nodes) {
    if (id === undefined || node?.on_error !== "branch" || connected.has(id)) continue;
    const place = { severity: "warning", path: [...path, "on_error"], node_id: id } as const;
    const message = "If this node fails, its branch stops and the run does not fail";
    const hint = 'Add an edge from its handle "error"';
    problems.add({ ...place, code: "error_branch_unconnected", message, hint });
  }
}
