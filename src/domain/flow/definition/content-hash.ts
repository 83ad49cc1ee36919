import { createHash } from "node:crypto";

/** JSON text with the keys of every object sorted: equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

/**
 * SHA-256 (hex) of what a flow does: of its canonical JSON without `ui` and without the nodes' `notes`. Two versions of
 * the same hash are the same version. Takes the definition as it is stored, so that a changed default changes no hash.
 */
export function contentHash(definition: {
  readonly nodes: readonly unknown[];
  readonly [member: string]: unknown;
}): string {
  const { ui: _, ...content } = definition;
  return createHash("sha256")
    .update(canonicalJson(withoutNotes(content)))
    .digest("hex");
}

function withoutNotes(graph: { readonly nodes: readonly unknown[] }): unknown {
  return { ...graph, nodes: graph.nodes.map(nodeWithoutNotes) };
}

function nodeWithoutNotes(raw: unknown): unknown {
  const { notes: _, ...node } = raw as { readonly notes?: unknown; readonly config?: { readonly flow?: unknown } };
  const flow = node.config?.flow as { readonly nodes?: unknown } | undefined;
  if (!Array.isArray(flow?.nodes)) return node;
  return { ...node, config: { ...node.config, flow: withoutNotes({ ...flow, nodes: flow.nodes }) } };
}
