import { fieldOf, newId } from "../../../flow/access.ts";
import type { FlowDocument, FlowNode, Json, JsonObject, NodeKind } from "../../../flow/document.ts";

/**
 * A node of a type, configured only as far as it needs handles: the fields that are missing are shown as problems, where
 * an example would look as if it were meant.
 */
export function newNode(document: FlowDocument, kind: NodeKind): FlowNode {
  const config: Record<string, Json> = {};
  const properties = (kind.config["properties"] ?? {}) as Readonly<Record<string, JsonObject | undefined>>;
  for (const { each } of kind.handles) {
    const list = each === undefined ? undefined : properties[each];
    if (each !== undefined && list !== undefined && list["default"] === undefined)
      config[each] = [firstEntry(list["items"], kind.example[each])];
  }
  const nested = Object.entries(properties).find(([, schema]) => schema?.["x-flow"] === true)?.[0];
  const id = newId(document, kind.type);
  if (nested !== undefined) {
    const inner = newId(document, "output");
    config[nested] = { nodes: [{ id: inner, type: "output" }], edges: [] };
  }
  return { id, type: kind.type, ...(Object.keys(config).length > 0 && { config }) };
}

/** An entry with the ID of the example's first one, and nothing in its other required fields. */
function firstEntry(schema: Json | undefined, examples: unknown): Json {
  const entry: Record<string, Json> = {};
  const required = fieldOf(schema, "required");
  for (const name of Array.isArray(required) ? (required as readonly string[]) : []) entry[name] = "";
  const id = fieldOf(Array.isArray(examples) ? (examples as readonly unknown[])[0] : undefined, "id");
  return { ...entry, id: typeof id === "string" ? id : "first" };
}
