import { createHash } from "node:crypto";

/** The members of a node's configuration in which order means something: a model answers in the order of its schema. */
const IN_ORDER: ReadonlySet<string> = new Set(["schema", "form"]);

/** JSON text with the keys of every object sorted, but for what is within members of these names: equal values have equal texts. */
export function canonicalJson(value: unknown, inOrder?: ReadonlySet<string>): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null, inOrder)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => {
      const text = inOrder?.has(key) ? JSON.stringify(member) : canonicalJson(member, inOrder);
      return `${JSON.stringify(key)}:${text}`;
    });
  return `{${members.join(",")}}`;
}

/**
 * SHA-256 (hex) of what a flow does: of its canonical JSON, but schemas and forms as they are written, without `ui` and
 * without the nodes' `notes`. Two versions of the same hash are the same version. Takes the definition as it is stored, so
 * that a changed default changes no hash.
 */
export function contentHash(definition: {
  readonly nodes: readonly unknown[];
  readonly [member: string]: unknown;
}): string {
  const { ui: _, ...content } = definition;
  return createHash("sha256")
    .update(canonicalJson(withoutNotes(content), IN_ORDER))
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
