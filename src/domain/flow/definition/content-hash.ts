import { sha256 } from "../../derived-id.ts";

/** Configuration fields in which key order matters: a model answers in the order of its schema. */
const IN_ORDER: ReadonlySet<string> = new Set(["schema", "form"]);

/** JSON text with sorted object keys, so that equal values have equal texts. Values under a key of `inOrder` keep their order. */
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
 * SHA-256 (hex) of what a flow does: its canonical JSON without `ui` and the nodes' `notes`, with schemas and forms as written. Versions
 * with the same hash are the same version. Pass the definition as it is stored, so that a changed default changes no hash.
 */
export function contentHash(definition: {
  readonly nodes: readonly unknown[];
  readonly [member: string]: unknown;
}): string {
  const { ui: _, ...content } = definition;
  return sha256(canonicalJson(withoutNotes(content), IN_ORDER));
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
