import type { GraphEdge, GraphNode } from "../../parts/graph/layout.ts";
import type { Comparison } from "../../flow/compare.ts";
import { shapeOf, type ShownEdge } from "./flow-shape.ts";

interface AnyNode {
  readonly id?: unknown;
  readonly config?: { readonly flow?: unknown } | null;
}

/** A node of a flow; a draft may be any JSON. */
export function nodeIn(flow: unknown, id: string): AnyNode | undefined {
  const { nodes } = (flow ?? {}) as { nodes?: unknown };
  const all = Array.isArray(nodes) ? (nodes as Array<AnyNode | null>) : [];
  return all.find((node) => node?.id === id) ?? undefined;
}

/** The flow inside the maps and loops of a path; the flow itself for "". */
export function insideOf(flow: unknown, scope: string): unknown {
  let inner = flow;
  for (const id of scope === "" ? [] : scope.split("/")) {
    inner = nodeIn(inner, id)?.config?.flow;
  }
  return inner;
}

/** A node by its own ID after the IDs of the maps and loops around it. */
export const pathOf = ({ scope, id }: { readonly scope: readonly string[]; readonly id: string }): string =>
  [...scope, id].join("/");

/** Both flows as one graph: what is removed is drawn as well. */
export function graphOfChanges(
  before: unknown,
  after: unknown,
  changes: Comparison,
  scope: string,
): { readonly nodes: GraphNode[]; readonly edges: GraphEdge[] } {
  const within = scope === "" ? "" : `${scope}/`;
  const markOf = (path: string): string | null => {
    const mark = changes.byPath.get(path)?.mark;
    return mark === undefined || mark === "moved" ? null : mark;
  };
  const [one, other] = [shapeOf(before), shapeOf(after)];
  const known = new Set(other.nodes.map(({ id }) => id));
  const nodes = [...other.nodes, ...one.nodes.filter(({ id }) => !known.has(id))].map(
    ({ id, type, name }): GraphNode => {
      const path = within + id;
      const isDeep = changes.inside.has(path);
      return {
        id,
        type,
        name: name ?? id,
        state: markOf(path),
        note: isDeep ? "changed inside" : null,
        opens: isDeep,
      };
    },
  );
  const drawn = (edge: ShownEdge, kind: "added" | "removed" | null): GraphEdge => ({
    source: edge.source,
    target: edge.target,
    label: edge.source_handle?.replace(/^case:/, "") ?? null,
    taken: kind !== "removed",
    ...(kind !== null && { change: kind }),
  });
  const own = changes.edges.filter((change) => change.scope.join("/") === scope);
  const added = own.filter(({ mark }) => mark === "added").map(({ edge }) => edge);
  const removed = shapeOf({ edges: own.flatMap(({ mark, edge }) => (mark === "removed" ? [edge] : [])) }).edges;
  return {
    nodes,
    edges: [
      ...other.edges.map((edge) => drawn(edge, added.some((each) => isSameEdge(each, edge)) ? "added" : null)),
      ...removed.map((edge) => drawn(edge, "removed")),
    ],
  };
}

const isSameEdge = (one: ShownEdge, other: ShownEdge): boolean =>
  one.source === other.source &&
  one.target === other.target &&
  (one.source_handle ?? "out") === (other.source_handle ?? "out");
