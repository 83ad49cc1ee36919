import { fieldOf, isObject } from "./access.ts";
import type { FlowNode, Json, JsonObject, NodeKind } from "./document.ts";

export type Language = "liquid" | "cel" | "javascript";
type Schema = Readonly<Record<string, unknown>>;
type Change = (text: string, language: Language) => string;

export const kindOf = (kinds: readonly NodeKind[], type: string): NodeKind | undefined =>
  kinds.find((kind) => kind.type === type);

/** The handles that edges may leave a node by. A node of an unknown type has the handle `out`. */
export function handlesOf(kind: NodeKind | undefined, node: Readonly<Record<string, unknown>>): readonly string[] {
  if (kind === undefined) return ["out"];
  return kind.handles.flatMap(({ handle, each, when = {} }) => {
    if (Object.entries(when).some(([name, value]) => fieldOf(node, name) !== value)) return [];
    if (each === undefined) return [handle];
    const entries = fieldOf(node["config"], each) ?? defaultOf(kind, each);
    if (!Array.isArray(entries)) return [];
    const ids = (entries as readonly Json[]).map((entry) => fieldOf(entry, "id"));
    return ids.flatMap((id) => (typeof id === "string" ? [handle.replace("{id}", () => id)] : []));
  });
}

function defaultOf(kind: NodeKind, field: string): unknown {
  const properties = kind.config["properties"] as Readonly<Record<string, Schema | undefined>> | undefined;
  return properties?.[field]?.["default"];
}

/** The node with every expression of it changed, without the flow inside it; the same node if nothing changes. */
export function mapExpressions(node: FlowNode, kind: NodeKind | undefined, change: Change): FlowNode {
  let changed = node;
  const { config, skip_if: skip } = node;
  const mapped = mapFields(config, (each, name) => {
    if (name === "flow" && isObject(each)) return each;
    return kind === undefined
      ? mapTexts(each, guess(change))
      : mapBySchema(each, memberSchema(kind.config, name), change);
  });
  if (mapped !== config) changed = { ...changed, config: mapped as JsonObject };
  if (typeof skip === "string") {
    const text = change(skip, "cel");
    if (text !== skip) changed = { ...changed, skip_if: text };
  }
  return changed;
}

/** The language of a text of an unknown node type, by its look. */
const guess =
  (change: Change) =>
  (text: string): string =>
    change(text, /\{\{|\{%/.test(text) ? "liquid" : "cel");

function mapBySchema(value: Json | undefined, schema: unknown, change: Change): Json | undefined {
  if (typeof schema !== "object" || schema === null) return value;
  const rules = schema as Schema;
  const language = rules["x-language"] as Language | undefined;
  if (language !== undefined) return mapTexts(value, (text) => change(text, language));
  const ways = (rules["oneOf"] ?? rules["anyOf"]) as readonly unknown[] | undefined;
  if (ways !== undefined)
    return ways.reduce((mapped: Json | undefined, way) => mapBySchema(mapped, way, change), value);
  return mapFields(value, (each, name) => mapBySchema(each, memberSchema(rules, name), change));
}

/** The schema of a field, or of the items of a list. */
function memberSchema(schema: Schema, name: string | null): unknown {
  if (name === null) return schema["items"];
  const properties = (schema["properties"] ?? {}) as Schema;
  return Object.hasOwn(properties, name) ? properties[name] : schema["additionalProperties"];
}

/** Changes all texts in a value at any depth. */
function mapTexts(value: Json | undefined, change: (text: string) => string): Json | undefined {
  return typeof value === "string" ? change(value) : mapFields(value, (each) => mapTexts(each, change));
}

/** Changes the entries of a list or object; the same value if none changes. */
function mapFields(
  value: Json | undefined,
  change: (each: Json | undefined, name: string | null) => Json | undefined,
): Json | undefined {
  if (Array.isArray(value)) {
    let list = value as readonly Json[];
    for (const [at, each] of list.entries()) {
      const now = change(each, null) as Json;
      if (now !== each) list = list.with(at, now);
    }
    return list;
  }
  if (!isObject(value)) return value;
  let object = value;
  for (const name of Object.keys(value)) {
    const now = change(value[name], name);
    if (now !== value[name]) object = { ...object, [name]: now };
  }
  return object;
}
