import type { BinaryOperator } from "./ast.ts";
import { makeDuration, makeTimestamp } from "./time.ts";
import {
  compareNumbers,
  describe,
  Duration,
  equalValues,
  failed,
  isList,
  isMap,
  isNumber,
  member,
  Timestamp,
  type Value,
} from "./values.ts";
import { limitList, limitText, type Meter } from "./limits.ts";
import type { NodeFailure } from "../../../runs/failure.ts";
import { NativeBytes, isInteger, toNumber } from "../natives.ts";

type Apply = (left: Value, right: Value, meter: Meter) => Value;

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;

const checked = (value: bigint): bigint => {
  if (value >= MIN_INT && value <= MAX_INT) return value;
  throw failed("The integer does not fit into 64 bits: use double(...) to continue with less precision");
};

const mismatch = (operator: string, left: Value, right: Value): NodeFailure => {
  const text = operator === "+" && (typeof left === "string" || typeof right === "string");
  const nothing = left === null || right === null;
  const hint = text
    ? ": use string(...) to convert a value to text"
    : nothing
      ? ": test the value with `!= null` first"
      : "";
  return failed(`"${operator}" cannot be applied to ${describe(left)} and ${describe(right)}${hint}`);
};

const addBytes = (left: Uint8Array, right: Uint8Array): Uint8Array => {
  const sum = new Uint8Array(left.length + right.length);
  sum.set(left);
  sum.set(right, left.length);
  return sum;
};

const add: Apply = (left, right) => {
  if (typeof left === "string" && typeof right === "string") {
    limitText(left.length + right.length);
    return left + right;
  }
  if (typeof left === "bigint" && typeof right === "bigint") return checked(left + right);
  if (isNumber(left) && isNumber(right)) return toNumber(left) + toNumber(right);
  if (isList(left) && isList(right)) {
    limitList(left.length + right.length);
    return [...left, ...right];
  }
  if (left instanceof NativeBytes && right instanceof NativeBytes) {
    limitText(left.length + right.length);
    return addBytes(left, right);
  }
  if (left instanceof Duration && right instanceof Duration) return makeDuration(left.nanos + right.nanos);
  if (left instanceof Timestamp && right instanceof Duration) return makeTimestamp(left.nanos + right.nanos);
  if (left instanceof Duration && right instanceof Timestamp) return makeTimestamp(left.nanos + right.nanos);
  throw mismatch("+", left, right);
};

const subtract: Apply = (left, right) => {
  if (typeof left === "bigint" && typeof right === "bigint") return checked(left - right);
  if (isNumber(left) && isNumber(right)) return toNumber(left) - toNumber(right);
  if (left instanceof Timestamp && right instanceof Timestamp) return makeDuration(left.nanos - right.nanos);
  if (left instanceof Timestamp && right instanceof Duration) return makeTimestamp(left.nanos - right.nanos);
  if (left instanceof Duration && right instanceof Duration) return makeDuration(left.nanos - right.nanos);
  throw mismatch("-", left, right);
};

const multiply: Apply = (left, right) => {
  if (typeof left === "bigint" && typeof right === "bigint") return checked(left * right);
  if (isNumber(left) && isNumber(right)) return toNumber(left) * toNumber(right);
  throw mismatch("*", left, right);
};

const divide: Apply = (left, right) => {
  if (!isNumber(left) || !isNumber(right)) throw mismatch("/", left, right);
  if (toNumber(right) === 0) throw failed("Division by zero");
  return typeof left === "bigint" && typeof right === "bigint"
    ? checked(left / right)
    : toNumber(left) / toNumber(right);
};

const remainder: Apply = (left, right) => {
  if (!isNumber(left) || !isNumber(right)) throw mismatch("%", left, right);
  if (toNumber(right) === 0) throw failed("Division by zero");
  if (typeof left === "bigint" && typeof right === "bigint") return left % right;
  if (isInteger(toNumber(left)) && isInteger(toNumber(right))) return toNumber(left) % toNumber(right);
  throw failed('"%" needs whole numbers');
};

/** Negative, zero or positive if `left` comes before, equals or comes after `right`; NaN if either is NaN. */
const compare = (operator: string, left: Value, right: Value): number => {
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right);
  if (typeof left === "string" && typeof right === "string") return left < right ? -1 : left > right ? 1 : 0;
  if (typeof left === "boolean" && typeof right === "boolean") return toNumber(left) - toNumber(right);
  if (
    (left instanceof Timestamp && right instanceof Timestamp) ||
    (left instanceof Duration && right instanceof Duration)
  ) {
    return left.nanos < right.nanos ? -1 : left.nanos > right.nanos ? 1 : 0;
  }
  if (left instanceof NativeBytes && right instanceof NativeBytes) {
    const differs = left.findIndex((byte, index) => byte !== right[index]);
    return differs < 0 ? left.length - right.length : (left[differs] as number) - (right[differs] ?? -1);
  }
  throw mismatch(operator, left, right);
};

const isIn: Apply = (left, right, meter) => {
  if (isList(right)) return right.some((item) => equalValues(item, left, meter));
  if (isMap(right)) return member(right, left) !== undefined;
  const hint = typeof right === "string" ? ": use text.contains(part) to search in text" : "";
  throw failed(`"in" needs a list or a map on its right, not ${describe(right)}${hint}`);
};

/** The implementation of each operator, except `&&` and `||`, which do not always evaluate both sides. */
export const OPERATORS: Readonly<Record<Exclude<BinaryOperator, "&&" | "||">, Apply>> = {
  "+": add,
  "-": subtract,
  "*": multiply,
  "/": divide,
  "%": remainder,
  "==": (left, right, meter) => equalValues(left, right, meter),
  "!=": (left, right, meter) => !equalValues(left, right, meter),
  "<": (left, right) => compare("<", left, right) < 0,
  "<=": (left, right) => compare("<=", left, right) <= 0,
  ">": (left, right) => compare(">", left, right) > 0,
  ">=": (left, right) => compare(">=", left, right) >= 0,
  in: isIn,
};

export const negate = (value: Value): Value => {
  if (typeof value === "bigint") return checked(-value);
  if (typeof value === "number") return -value;
  if (value instanceof Duration) return makeDuration(-value.nanos);
  throw failed(`"-" cannot be applied to ${describe(value)}`);
};
