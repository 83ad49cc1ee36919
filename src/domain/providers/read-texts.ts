import { jsonOrText } from "../json.ts";
import type { Json, JsonObject } from "../json.ts";

const MAX_DEPTH = 20;

/** A value with its texts read as JSON where the schema says that they are no texts: of templates nothing else comes. */
export function readTexts(root: JsonObject, value: Json): Json {
  return read(root, root, value, 0);
}

function read(root: JsonObject, schema: Json | undefined, value: Json, depth: number): Json {
  if (typeof schema !== "object" || schema === null || depth > MAX_DEPTH) return value;
  const { $ref, type, properties, items } = schema as JsonObject;
  if (typeof $ref === "string") {
    const defs = (root["$defs"] ?? {}) as JsonObject;
    const name = $ref.replace(/^#\/\$defs\//, "");
    return read(root, Object.hasOwn(defs, name) ? defs[name] : undefined, value, depth + 1);
  }
  if (typeof value === "string") return wantsText(type) ? value : jsonOrText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each: Json) => read(root, items, each, depth + 1));
  const known = (properties ?? {}) as JsonObject;
  const members = Object.entries(value).map(([name, each]) => {
    const own = Object.hasOwn(known, name) ? known[name] : undefined;
    return [name, read(root, own, each, depth + 1)] as const;
  });
  return Object.fromEntries(members);
}

function wantsText(type: Json | undefined): boolean {
  return type === undefined || type === "string" || (Array.isArray(type) && type.includes("string"));
}
