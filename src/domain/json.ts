export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** A value whose parts are all read-only. */
export type Immutable<Value> =
  Value extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Immutable<Item>>
    : Value extends object
      ? { readonly [Name in keyof Value]: Immutable<Value[Name]> }
      : Value;

/** A JSON value kept in the blob store; `size` is the length of its JSON text in bytes. */
export interface BlobRef {
  readonly $blob: string;
  readonly size: number;
}

/** A value in a run: inline, or as a reference to the blob store. */
export type StoredValue = { readonly v: Json } | { readonly ref: BlobRef };

/** Longer JSON text (bytes) is passed by reference, never through a workflow history. */
export const INLINE_VALUE_BYTES = 64 * 1024;

/** A longer value (characters of JSON) is shortened in a run's record. */
export const RECORDED_CHARS = 16 * 1024;

/** The longest value that a node may return, as JSON text (bytes). */
export const MAX_VALUE_BYTES = 25 * 1024 * 1024;

/** The approximate length of a value's JSON text (characters), which decides whether the value is passed inline or by reference. */
export function jsonLength(value: Json): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 24;
  return JSON.stringify(value).length;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A field or item of a value; undefined if it has none. Inherited properties are never found. */
export function ownMember<Value>(value: Readonly<Record<string, Value>>, key: PropertyKey): Value | undefined;
export function ownMember(value: unknown, key: PropertyKey): unknown;
export function ownMember(value: unknown, key: PropertyKey): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Readonly<Record<PropertyKey, unknown>>)[key];
}

/** The items of a list; none of any other value. */
export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** A field of a value; null if the value has no such field. */
export function memberOf(value: Json, name: string): Json {
  return isObject(value) ? (ownMember(value, name) ?? null) : null;
}

/** A field by its name, or else by a path such as `realm_access.roles`. */
export function fieldOf<Value>(fields: Readonly<Record<string, Value>>, name: string): Value | undefined {
  if (Object.hasOwn(fields, name)) return fields[name];
  return name.split(".").reduce<unknown>(ownMember, fields) as Value | undefined;
}

/** The type of a value for error messages, such as "a string" or "an object". */
export function nameOfType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
