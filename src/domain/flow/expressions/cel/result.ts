import type { Json } from "../../../json.ts";
import { formatDuration, formatTimestamp } from "./time.ts";
import { Duration, failed, Timestamp, TypeName, type MadeMap, type Value } from "./values.ts";
import type { Meter } from "./limits.ts";
import { MAX_VALUE_DEPTH, tooDeep } from "../json-size.ts";
import { base64Encode } from "../utf8.ts";
import { NativeBytes, NativeMap, isArray, isFiniteNumber, isSafeInteger, toNumber, toStringOf } from "../natives.ts";

const number = (value: number): number => {
  if (isFiniteNumber(value)) return value;
  throw failed(`The result ${value} is not a number that JSON can represent`);
};

const integer = (value: bigint): number => {
  const asNumber = toNumber(value);
  if (isSafeInteger(asNumber)) return asNumber;
  throw failed(`The integer ${value} is too large for an exact JSON number: use string(...) to pass it as text`);
};

/** Copies on write: unchanged JSON input is returned as the same object. */
const list = (items: readonly Value[], meter: Meter, depth: number): Json => {
  let copy: Json[] | undefined;
  for (let i = 0; i < items.length; i++) {
    const item = toJson(items[i] as Value, meter, depth + 1);
    if (copy === undefined && item !== items[i]) copy = items.slice(0, i) as Json[];
    copy?.push(item);
  }
  return copy ?? (items as readonly Json[]);
};

const madeMap = (map: MadeMap, meter: Meter, depth: number): Json => {
  if (map.has("__proto__")) throw failed('A field of the result cannot be named "__proto__"');
  return Object.fromEntries([...map].map(([key, value]) => [toStringOf(key), toJson(value, meter, depth + 1)]));
};

/**
 * Converts a value to JSON: integers to numbers, timestamps to RFC 3339, durations to seconds such as "3.5s", bytes to base64, types to
 * their names. Throws NodeFailure for values that JSON cannot represent. Objects from JSON are returned as they are. Spends two ticks per
 * value, because a short expression can create a list that contains itself a million times.
 */
export const toJson = (value: Value, meter: Meter, depth = 0): Json => {
  meter.use(2);
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return number(value);
    case "bigint":
      return integer(value);
    default:
      if (value === null) return null;
      if (depth > MAX_VALUE_DEPTH) throw tooDeep();
      if (isArray(value)) return list(value, meter, depth);
      if (value instanceof NativeMap) return madeMap(value as MadeMap, meter, depth);
      if (value instanceof Timestamp) return formatTimestamp(value);
      if (value instanceof Duration) return formatDuration(value);
      if (value instanceof NativeBytes) {
        meter.use(value.length);
        return base64Encode(value);
      }
      return value instanceof TypeName ? value.name : (value as Json);
  }
};
