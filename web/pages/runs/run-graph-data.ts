import type { GraphEdge, GraphNode } from "../../parts/graph/layout.ts";
import { noteOf } from "./timeline-rows.ts";
import { stateOf, type NodeTree } from "./node-tree.ts";
import type { FlowShape } from "./flow-shape.ts";

/** The nodes of the flow with their states. A map or loop is one node with the number of its finished items. */
export function graphOf(
  flow: FlowShape,
  tree: NodeTree,
  scope: string | null,
): { readonly nodes: GraphNode[]; readonly edges: GraphEdge[] } {
  const before = scope === null ? "" : `${scope}/`;
  const nodes = flow.nodes.map(({ id, type, name }): GraphNode => {
    const node = tree.byPath.get(before + id);
    const state = node ? stateOf(node) : null;
    const opens =
      node !== undefined && (node.run?.child_run_id != null || node.children.some(({ index }) => index !== null));
    return { id, type, name: name ?? id, state, note: node ? noteOf(node) : null, opens };
  });
  const settled = (id: string): boolean => {
    const state = tree.byPath.get(before + id)?.run?.state;
    return state !== undefined && state !== "SKIPPED";
  };
  const edges = flow.edges.map(({ source, source_handle, target }): GraphEdge => ({
    source,
    target,
    label: source_handle === undefined || source_handle === "out" ? null : source_handle.replace(/^case:/, ""),
    taken: settled(source) && settled(target),
  }));
  return { nodes, edges };
}

/** The node that contains a path in the graph of a scope: `llm-0` for `llm-0/steps[1]`; null if none does. */
export function shownIn(scope: string | null, path: string | null): string | null {
  if (path === null) return null;
  const before = scope === null ? "" : `${scope}/`;
  if (!path.startsWith(before) || path === scope) return null;
  return path.slice(before.length).replace(/[[/].*$/s, "");
}
