import { words } from "../distinct.ts";
import { isObject, type Json, type JsonObject } from "../json.ts";

/** Strict mode's limits: levels of a schema, and fields of all objects together. */
const MAX_LEVELS = 10;
const MAX_MEMBERS = 100;
/** Keywords that strict mode supports, beside the ones that do not affect the answer. */
const KNOWN = words(
  "type properties required additionalProperties items enum const anyOf $ref $defs pattern format minimum maximum exclusiveMinimum " +
    "exclusiveMaximum multipleOf minItems maxItems title description",
);
/** Keywords that strict mode does not support and that do not affect the answer, so they can be removed. */
const LEFT_OUT = words("$schema $id $comment default examples deprecated");
const FORMATS = words("date-time time date duration email hostname ipv4 ipv6 uuid");

/**
 * The schema for OpenAI's strict mode, in which every object is closed and requires all of its fields. Null if that would change the
 * possible answers: for an optional field, an object with arbitrary fields, or an unsupported keyword.
 */
export function strictSchema(schema: JsonObject): JsonObject | null {
  const count = { members: 0 };
  if (schema["type"] !== "object" || schema["anyOf"] !== undefined) return null;
  return strict(schema, 1, count);
}

function strict(schema: Json | undefined, level: number, count: { members: number }): JsonObject | null {
  if (level > MAX_LEVELS || !isObject(schema)) return null;
  const made: Record<string, Json> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (LEFT_OUT.has(name)) continue;
    if (!KNOWN.has(name) || (name === "format" && !FORMATS.has(value))) return null;
    made[name] = value;
  }
  if (made["$ref"] !== undefined && Object.keys(made).some((name) => name !== "$ref" && name !== "$defs")) return null;
  for (const name of ["properties", "$defs"]) {
    if (made[name] === undefined) continue;
    const members = strictMembers(made[name], level, count);
    if (members === null) return null;
    made[name] = members;
  }
  if (made["anyOf"] !== undefined) {
    if (!Array.isArray(made["anyOf"])) return null;
    const all = made["anyOf"].map((each: Json) => strict(each, level + 1, count));
    if (all.includes(null)) return null;
    made["anyOf"] = all;
  }
  if (made["items"] !== undefined) {
    const items = strict(made["items"], level + 1, count);
    if (items === null) return null;
    made["items"] = items;
  }
  return isOrClosesObject(made) ? made : null;
}

/** Returns false if strict mode would change the schema's objects. Otherwise closes the object, if the schema describes one. */
function isOrClosesObject(made: Record<string, Json>): boolean {
  const { type, properties, required, additionalProperties } = made;
  const types = [type ?? []].flat();
  if (!types.includes("object")) return properties === undefined && (type !== undefined || isPlain(made));
  const names = isObject(properties) ? Object.keys(properties) : [];
  // Without named fields, a closed object could only be empty.
  if (names.length === 0 || (additionalProperties !== undefined && additionalProperties !== false)) return false;
  if (!Array.isArray(required) || required.length !== names.length || !names.every((name) => required.includes(name)))
    return false;
  made["additionalProperties"] = false;
  return true;
}

/** Whether the schema has only keywords that define its values by themselves. */
const isPlain = (made: Record<string, Json>): boolean =>
  ["enum", "const", "anyOf", "$ref"].some((name) => made[name] !== undefined);

function strictMembers(value: Json | undefined, level: number, count: { members: number }): JsonObject | null {
  if (!isObject(value)) return null;
  const made: Record<string, Json> = {};
  for (const [name, member] of Object.entries(value)) {
    count.members += 1;
    if (count.members > MAX_MEMBERS) return null;
    const found = strict(member, level + 1, count);
    if (found === null) return null;
    made[name] = found;
  }
  return made;
}
