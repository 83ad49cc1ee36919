/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** A JSON value kept in the blob store; `size` is the length of its JSON text in bytes. */
export interface BlobRef {
  readonly $blob: string;
  readonly size: number;
}

/** A value as a run carries it: inline, or as a reference to where it is stored. */
export type StoredValue = { readonly v: Json } | { readonly ref: BlobRef };

/** JSON text longer than this (bytes) travels by reference, never through a workflow history. */
export const INLINE_VALUE_BYTES = 64 * 1024;

/** A longer value (characters of JSON) is shortened in a run's record. */
export const RECORDED_CHARS = 16 * 1024;

/** The longest value a node may yield, as JSON text (bytes). */
export const MAX_VALUE_BYTES = 25 * 1024 * 1024;

/** Characters of the JSON text, or close to it. They decide whether a value travels inline or by reference. */
export function jsonLength(value: Json): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 24;
  return JSON.stringify(value).length;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member of a value; null if the value has none of this name. */
export function memberOf(value: Json, name: string): Json {
  return (isObject(value) && Object.hasOwn(value, name) ? value[name] : null) ?? null;
}

/** A field by its name, else by the path to it, such as `realm_access.roles`. */
export function fieldOf<Value>(fields: Readonly<Record<string, Value>>, name: string): Value | undefined {
  if (Object.hasOwn(fields, name)) return fields[name];
  let value: unknown = fields;
  for (const step of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value as Value;
}

/** What a text says as JSON; the text itself where it is none. */
export function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** A value's type in the words of an error message, such as "a string" and "an object". */
export function nameOfType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
