import { isObject, type Json, type JsonObject } from "../../json.ts";
import type { ReadPath } from "../scope.ts";
import type { Expression } from "../nodes/spec.ts";

/** The schema that a path leads to; or the first key that no value can have, and the keys that values do have. */
export type Followed =
  | { readonly ok: true; readonly schema: JsonObject }
  | { readonly ok: false; readonly key: string; readonly known: readonly string[] };

/** Properties that every text, list and object has in templates. */
const PSEUDO_MEMBERS: readonly string[] = ["size", "first", "last"];
/** Keywords whose effect is not analysed here, so a schema with one of them allows anything; `$ref` if it leads to no `$defs` of the schema. */
const UNKNOWN: readonly string[] = ["$ref", "allOf", "not", "if", "patternProperties"];

type Step = { readonly schemas: readonly JsonObject[]; readonly known: readonly string[] };
const ANYTHING: Step = { schemas: [{}], known: [] };

/**
 * Follows a path's keys through a schema. `closed`: objects of the schema's top level have only the keys in `properties`, as values of node
 * types do; below it, JSON Schema's own rule holds.
 */
export function followSchema(
  schema: JsonObject,
  path: ReadPath,
  language: Expression["language"],
  closed: boolean,
): Followed {
  const { $defs } = schema;
  let at: readonly JsonObject[] = [schema];
  for (const [depth, key] of path.entries()) {
    const ways = new Set(at.flatMap((each) => waysOf(each, $defs)));
    const steps = [...ways].flatMap((way) => stepInto(way, key, language, closed && depth === 0));
    // Only null is possible here, as for a skipped node; reading a field of null is not reported.
    if (steps.length === 0) return { ok: true, schema: {} };
    const next = steps.flatMap(({ schemas }) => schemas);
    if (next.length === 0) return { ok: false, key: String(key), known: steps.flatMap(({ known }) => known) };
    at = [...new Set(next)];
  }
  const [only] = at;
  return { ok: true, schema: withDefs(at.length === 1 && only ? only : { anyOf: [...at] }, $defs) };
}

/** The alternatives of a schema, with references resolved. Looks at each schema once, because a reference may lead back. */
function waysOf(schema: JsonObject, $defs: Json | undefined, seen: Set<JsonObject> = new Set()): JsonObject[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const target = definitionOf(schema, $defs);
  const ways = (schema["anyOf"] ?? schema["oneOf"] ?? (target && [target])) as readonly JsonObject[] | undefined;
  return ways === undefined ? [schema] : ways.flatMap((way) => waysOf(way, $defs, seen));
}

function definitionOf({ $ref }: JsonObject, $defs: Json | undefined): JsonObject | undefined {
  const name = typeof $ref === "string" && $ref.startsWith("#/$defs/") ? $ref.slice("#/$defs/".length) : undefined;
  if (name === undefined || !isObject($defs) || !Object.hasOwn($defs, name)) return undefined;
  const found = $defs[name];
  return isObject(found) ? found : undefined;
}

/** A part of a schema with the definitions that it refers to. */
function withDefs(part: JsonObject, $defs: Json | undefined): JsonObject {
  const isComplete = $defs === undefined || part["$defs"] !== undefined || !JSON.stringify(part).includes("$ref");
  return isComplete ? part : { ...part, $defs };
}

/** The schema of a value that may have more fields than the listed ones, unless the schema itself excludes that. */
export function opened(schema: JsonObject): JsonObject {
  const { $defs } = schema;
  const ways = waysOf(schema, $defs).map((way) =>
    way["properties"] === undefined || way["additionalProperties"] !== undefined
      ? way
      : { ...way, additionalProperties: true },
  );
  const [only] = ways;
  return withDefs(ways.length === 1 && only ? only : { anyOf: ways }, $defs);
}

function stepInto(schema: JsonObject, key: string | number, language: Expression["language"], closed: boolean): Step[] {
  if (UNKNOWN.some((keyword) => keyword in schema)) return [ANYTHING];
  const isPseudo = language === "liquid" && PSEUDO_MEMBERS.includes(String(key));
  return typesOf(schema).flatMap((type): Step[] => {
    switch (type) {
      case "object":
        return isPseudo ? [ANYTHING] : [memberOf(schema, String(key), closed)];
      case "array":
        if (isPseudo) return [ANYTHING];
        return [/^-?\d+$/.test(String(key)) ? { schemas: [itemsOf(schema)], known: [] } : { schemas: [], known: [] }];
      case "string":
        return [isPseudo ? ANYTHING : { schemas: [], known: [] }];
      case "number":
      case "integer":
      case "boolean":
        return [{ schemas: [], known: [] }];
      case "null":
        return [];
      default:
        return [ANYTHING];
    }
  });
}

function memberOf(schema: JsonObject, key: string, closed: boolean): Step {
  const members = schema["properties"] as Readonly<Record<string, JsonObject>> | undefined;
  const member = members && Object.hasOwn(members, key) ? members[key] : undefined;
  if (member !== undefined) return { schemas: [member], known: [] };
  const others = schema["additionalProperties"];
  if (typeof others === "object" && others !== null) return { schemas: [others as JsonObject], known: [] };
  const isComplete = others === false || (closed && members !== undefined && others === undefined);
  return isComplete ? { schemas: [], known: Object.keys(members ?? {}) } : ANYTHING;
}

export function itemsOf(schema: JsonObject): JsonObject {
  const { $defs } = schema;
  const lists = waysOf(schema, $defs).filter((way) =>
    typesOf(way).some((type) => type === "array" || type === "anything"),
  );
  const items = lists.map((list) => list["items"]).filter(isObject);
  const [only] = items;
  if (only === undefined || items.length < lists.length) return {};
  return withDefs(items.length === 1 ? only : { anyOf: items }, $defs);
}

function typesOf(schema: JsonObject): readonly unknown[] {
  const { type } = schema;
  if (Array.isArray(type)) return type;
  if (type !== undefined) return [type];
  if ("const" in schema) return [typeOf(schema["const"] ?? null)];
  if (Array.isArray(schema["enum"])) return [...new Set(schema["enum"].map((value) => typeOf(value as Json)))];
  return ["properties" in schema ? "object" : "anything"];
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
