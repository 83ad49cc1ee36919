import { MAX_VALUE_BYTES, type Json } from "../../../json.ts";
import { parseExactJson } from "../../../exact-json.ts";
import type { CelFunction } from "./cel-function.ts";
import { limitText, type Meter } from "./limits.ts";
import { toJson } from "./result.ts";
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp, makeTimestamp } from "./time.ts";
import {
  describe,
  Duration,
  failed,
  isList,
  isMap,
  sizeOf,
  Timestamp,
  TypeName,
  typeName,
  type Value,
} from "./values.ts";
import { jsonSize } from "../json-size.ts";
import { charLength } from "./chars.ts";
import { utf8Decode, utf8Encode } from "../utf8.ts";
import type { NodeFailure } from "../../../runs/failure.ts";
import { NativeBytes, isFiniteNumber, toBigInt, toNumber, toStringOf } from "../natives.ts";

const wrong = (name: string, value: Value): NodeFailure =>
  failed(
    typeof value === "string"
      ? `${name}() cannot read the text ${JSON.stringify(value.slice(0, 40))}`
      : `${name}() cannot convert ${describe(value)}`,
  );

const MAX_INT = 2n ** 63n - 1n;

const toInt = (value: Value): bigint => {
  if (typeof value === "bigint") return value;
  if (typeof value === "number" && isFiniteNumber(value)) {
    const whole = toBigInt(Math.trunc(value));
    // CEL rejects -2^63 as a double, because the numbers around it round to it too.
    if (whole <= MAX_INT && whole >= -MAX_INT) return whole;
    throw failed(`int() of ${value} does not fit into 64 bits`);
  }
  if (typeof value === "string" && /^[+-]?\d{1,19}$/.test(value)) {
    const whole = toBigInt(value.replace("+", ""));
    if (whole <= MAX_INT && whole >= -MAX_INT - 1n) return whole;
  }
  if (value instanceof Timestamp) return toSeconds(value.nanos);
  throw wrong("int", value);
};

/** Rounds down, also before 1970, so that every second has the same length. */
const toSeconds = (nanos: bigint): bigint => (nanos - (((nanos % 10n ** 9n) + 10n ** 9n) % 10n ** 9n)) / 10n ** 9n;

const toUint = (value: Value): bigint => {
  const whole = toInt(value);
  if (whole < 0n) throw failed(`uint() cannot convert the negative number ${whole}`);
  return whole;
};

const toDouble = (value: Value): number => {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return toNumber(value);
  if (typeof value === "string") {
    // Unambiguous, so that a long text that is not a number is rejected in linear time.
    if (/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(value)) return toNumber(value);
  }
  throw wrong("double", value);
};

const toBool = (value: Value): boolean => {
  if (typeof value === "boolean") return value;
  if (typeof value === "string") {
    if (["true", "True", "TRUE", "t", "1"].includes(value)) return true;
    if (["false", "False", "FALSE", "f", "0"].includes(value)) return false;
  }
  throw wrong("bool", value);
};

const toText = (value: Value, meter: Meter): string => {
  if (typeof value === "string") return value;
  if (typeof value !== "object") return toStringOf(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeName) return value.name;
  if (value instanceof NativeBytes) {
    const text = utf8Decode(value);
    if (text === undefined) throw failed("string() cannot convert these bytes: they are not UTF-8");
    return text;
  }
  // An extension of CEL: lists, maps and null become JSON text, the counterpart of json().
  const json = toJson(value, meter);
  const size = jsonSize(json, MAX_VALUE_BYTES);
  limitText(size);
  // Parts that came from JSON have not been counted yet.
  meter.use(size >> 1);
  return JSON.stringify(json);
};

const parseJson = (value: Value, meter: Meter): Json => {
  if (typeof value !== "string") throw failed(`json() needs JSON text, not ${describe(value)}`);
  // An element of two characters becomes an object of sixty bytes.
  meter.use(value.length >> 1);
  try {
    return parseExactJson(value);
  } catch {
    const start = JSON.stringify(value.slice(0, 40));
    throw failed(`json() received text that is not JSON; it starts with ${start}`);
  }
};

const size = (value: Value, meter: Meter): bigint => {
  if (typeof value === "string") return toBigInt(charLength(value));
  if (isList(value) || value instanceof NativeBytes) return toBigInt(value.length);
  if (isMap(value)) return toBigInt(sizeOf(value, meter));
  throw failed(`size() cannot measure ${describe(value)}`);
};

const plain = (name: string, apply: (value: Value, meter: Meter) => Value): readonly [string, CelFunction] => [
  name,
  { plain: [1], apply: (args, meter) => apply(args[0] as Value, meter) },
];

/** Functions that convert a value to another type, and `size`. */
export const CONVERSIONS: ReadonlyArray<readonly [string, CelFunction]> = [
  plain("int", toInt),
  plain("uint", toUint),
  plain("double", toDouble),
  plain("bool", toBool),
  plain("string", toText),
  plain("json", parseJson),
  plain("dyn", (value) => value),
  plain("type", (value) => new TypeName(typeName(value))),
  plain("bytes", (value) => {
    if (value instanceof NativeBytes) return value;
    if (typeof value === "string") return utf8Encode(value);
    throw wrong("bytes", value);
  }),
  plain("timestamp", (value) => {
    if (value instanceof Timestamp) return value;
    if (typeof value === "string") return parseTimestamp(value);
    if (typeof value === "bigint" || typeof value === "number") return makeTimestamp(toInt(value) * 10n ** 9n);
    throw wrong("timestamp", value);
  }),
  plain("duration", (value) => {
    if (value instanceof Duration) return value;
    if (typeof value === "string") return parseDuration(value);
    throw wrong("duration", value);
  }),
  ["size", { plain: [1], method: [0], apply: (args, meter) => size(args[0] as Value, meter) }],
];
