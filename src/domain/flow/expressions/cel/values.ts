import type { JsonObject } from "../../../json.ts";
import type { Meter } from "./limits.ts";
import { NodeFailure } from "../../../runs/failure.ts";
import { MAX_VALUE_DEPTH, tooDeep } from "../json-size.ts";
import {
  NativeBytes,
  NativeMap,
  hasOwn,
  isArray,
  isInteger,
  isNotNumber,
  isSafeInteger,
  keysOfObject,
  toNumber,
} from "../natives.ts";

class Nanos {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A point in time, in nanoseconds since 1970 (UTC). */
export class Timestamp extends Nanos {}

/** A length of time in nanoseconds. */
export class Duration extends Nanos {}

/** A type as a value: the result of `type(x)`, and the meaning of names such as `string`. */
export class TypeName {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export type MapKey = string | number | bigint | boolean;

/** A map that an expression created; maps from JSON are plain objects. A Map has no inherited keys. */
export type MadeMap = ReadonlyMap<MapKey, Value>;

/**
 * The values of expressions. An int is a bigint, a double a number; JSON numbers are doubles. JSON objects and arrays are never copied, and
 * read only through `Object.hasOwn`.
 */
export type Value =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | Timestamp
  | Duration
  | TypeName
  | readonly Value[]
  | MadeMap
  | JsonObject;

export const isList = (value: Value): value is readonly Value[] => isArray(value);

/** Whether a value is a map of either kind. */
export const isMap = (value: Value): value is MadeMap | JsonObject =>
  typeof value === "object" &&
  value !== null &&
  !isArray(value) &&
  !(
    value instanceof NativeBytes ||
    value instanceof Timestamp ||
    value instanceof Duration ||
    value instanceof TypeName
  );

export const isNumber = (value: Value): value is number | bigint =>
  typeof value === "number" || typeof value === "bigint";

const PLAIN_TYPES: Readonly<Record<string, string>> = {
  string: "string",
  number: "double",
  bigint: "int",
  boolean: "bool",
};

/** CEL's name for the type of a value; messages for people use `describe`. */
export const typeName = (value: Value): string => {
  if (value === null) return "null_type";
  if (typeof value !== "object") return PLAIN_TYPES[typeof value] ?? "map";
  if (isArray(value)) return "list";
  if (value instanceof NativeBytes) return "bytes";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof Duration) return "google.protobuf.Duration";
  return value instanceof TypeName ? "type" : "map";
};

const WORDS: Readonly<Record<string, string>> = {
  double: "a number",
  int: "an integer",
  null_type: "null",
  "google.protobuf.Timestamp": "a timestamp",
  "google.protobuf.Duration": "a duration",
  bytes: "bytes",
};

/** The type of a value in the words of an error message. */
export const describe = (value: Value): string => WORDS[typeName(value)] ?? `a ${typeName(value)}`;

/** Maps equal numbers to the same key, whether int or double. */
const normalKey = (key: MapKey): MapKey =>
  typeof key === "bigint" && isSafeInteger(toNumber(key)) ? toNumber(key) : key;

export const isMapKey = (value: Value): value is MapKey =>
  typeof value === "string" || typeof value === "boolean" || typeof value === "bigint" || isInteger(value);

/** A field of a map, or undefined if it has none of that name. Inherited properties are never found. */
export const member = (map: MadeMap | JsonObject, key: Value): Value | undefined => {
  if (map instanceof NativeMap) return isMapKey(key) ? (map as MadeMap).get(normalKey(key)) : undefined;
  return typeof key === "string" && hasOwn(map, key) ? (map as JsonObject)[key] : undefined;
};

/** Ticks for listing keys. V8 stores large objects as hash tables and needs a microsecond per key to sort them. */
const ticksOfKeys = (count: number): number => (count > 1_000 ? count * 32 : count * 2);

export const keysOf = (map: MadeMap | JsonObject, meter: Meter): readonly Value[] => {
  const keys = map instanceof NativeMap ? [...(map as MadeMap).keys()] : keysOfObject(map);
  meter.use(ticksOfKeys(keys.length));
  return keys;
};

export const sizeOf = (map: MadeMap | JsonObject, meter: Meter): number =>
  map instanceof NativeMap ? map.size : keysOf(map, meter).length;

/** Makes a map from entries; undefined if a key occurs twice. */
export const makeMap = (entries: ReadonlyArray<readonly [MapKey, Value]>): MadeMap | undefined => {
  const map = new Map<MapKey, Value>(entries.map(([key, value]) => [normalKey(key), value]));
  return map.size === entries.length ? map : undefined;
};

const equalMaps = (a: MadeMap | JsonObject, b: MadeMap | JsonObject, meter: Meter, depth: number): boolean => {
  const keys = keysOf(a, meter);
  if (keys.length !== sizeOf(b, meter)) return false;
  return keys.every((key) => {
    const other = member(b, key);
    return other !== undefined && equalValues(member(a, key) as Value, other, meter, depth + 1);
  });
};

/**
 * Negative, zero or positive if `a` is less than, equal to or greater than `b`; NaN if either is NaN. Exact, also between int and double.
 */
export const compareNumbers = (a: number | bigint, b: number | bigint): number => {
  if (a < b) return -1;
  if (a > b) return 1;
  return isNotNumber(a) || isNotNumber(b) ? Number.NaN : 0;
};

/**
 * Whether two values are equal by CEL's rules: numbers by value, lists and maps by content; values of different types never. One tick per
 * value.
 */
export const equalValues = (a: Value, b: Value, meter: Meter, depth = 0): boolean => {
  meter.use(1);
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0;
  if (typeof a === "string") {
    if (typeof b === "string" && a.length === b.length) meter.use(a.length >> 6);
    return a === b;
  }
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return a === b;
  if (depth > MAX_VALUE_DEPTH) throw tooDeep();
  if (isList(a)) {
    if (!isList(b) || a.length !== b.length) return false;
    return a.every((item, index) => equalValues(item, b[index] as Value, meter, depth + 1));
  }
  if (a instanceof NativeBytes) {
    if (!(b instanceof NativeBytes) || a.length !== b.length) return false;
    meter.use(a.length);
    return a.every((byte, index) => byte === b[index]);
  }
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeName) return b instanceof TypeName && a.name === b.name;
  return isMap(b) && equalMaps(a, b, meter, depth);
};

/** The failure of an expression that cannot be evaluated. */
export const failed = (message: string): NodeFailure => new NodeFailure("expression_failed", message);
