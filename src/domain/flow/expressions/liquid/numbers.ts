import { toValue } from "liquidjs/dist/liquid.browser.mjs";
import { NodeFailure } from "../../../runs/failure.ts";
import { isLongNumber } from "../../../exact-json.ts";

/** Longest integer for calculations, because BigInt takes more than linear time. */
const MAX_DIGITS = 1000;
/** An integer as text, possibly with leading zeros, a sign or an empty fraction. */
const INTEGER = /^([+-]?\d+)(?:\.0*)?$/;

/** What a filter computes for integers; undefined if the result is not an integer. The first `operands` arguments are always present. */
interface Exact {
  readonly operands: number;
  readonly apply: (...operands: bigint[]) => bigint | undefined;
}

const floorDivide = (value: bigint, by: bigint): bigint => (value - floorModulo(value, by)) / by;
const floorModulo = (value: bigint, by: bigint): bigint => ((value % by) + by) % by;
const size = (value: bigint): bigint => (value < 0n ? -value : value);
const same = (value: bigint): bigint => value;

/** Rounds half away from zero, as the engine does. */
const round = (value: bigint, places = 0n): bigint => {
  if (places >= 0n) return value;
  if (places < -MAX_DIGITS) return 0n;
  const unit = 10n ** -places;
  const rounded = ((size(value) + unit / 2n) / unit) * unit;
  return value < 0n ? -rounded : rounded;
};

const PLUS: Exact = { operands: 2, apply: (value, other = 0n) => value + other };

/** The engine's number filters for integers of any length. */
export const EXACT: ReadonlyMap<string, Exact> = new Map<string, Exact>([
  ["abs", { operands: 1, apply: size }],
  ["at_least", { operands: 2, apply: (value, least = value) => (value < least ? least : value) }],
  ["at_most", { operands: 2, apply: (value, most = value) => (value > most ? most : value) }],
  ["ceil", { operands: 1, apply: same }],
  ["floor", { operands: 1, apply: same }],
  ["to_integer", { operands: 1, apply: same }],
  ["round", { operands: 1, apply: round }],
  ["plus", PLUS],
  ["minus", { operands: 2, apply: (value, other = 0n) => value - other }],
  ["times", { operands: 2, apply: (value, other = 0n) => value * other }],
  ["modulo", { operands: 2, apply: (value, by = 0n) => (by === 0n ? undefined : floorModulo(value, by)) }],
  [
    "divided_by",
    {
      operands: 2,
      apply(value, by = 0n, whole = 0n) {
        if (by === 0n) return undefined;
        return whole !== 0n || value % by === 0n ? floorDivide(value, by) : undefined;
      },
    },
  ],
]);

/**
 * Computes a number filter without losing a digit of an integer. `plain` is the floating-point result, which is returned wherever it is
 * exact. Integers beyond 2^53 are text, in arguments and results. Throws NodeFailure if there is no exact result.
 */
export function computeExactly(
  name: string,
  { operands, apply }: Exact,
  args: readonly unknown[],
  plain: unknown,
): unknown {
  const given = args.map((arg) => toValue(arg) as unknown);
  const isLong = given.some(isLongText);
  const isLost = typeof plain === "number" && Number.isInteger(plain) && !Number.isSafeInteger(plain);
  if ((!isLong && !isLost) || given.length < operands) return plain;
  const integers = given.map(integerOf);
  const exact = integers.every((each) => each !== undefined) ? apply(...integers) : undefined;
  if (exact !== undefined) return textOrNumber(name, exact);
  if (!isLong) return plain;
  const shown = given.map((each) => String(each).slice(0, 40)).join(" and ");
  throw new NodeFailure("template_failed", `"${name}" cannot compute with ${shown} without losing digits`);
}

/** The sum of values, ignoring the ones that are not numbers. Throws NodeFailure as computeExactly does. */
export function sumExactly(values: readonly unknown[]): unknown {
  return values.reduce((total, value) => {
    const plain = Number(total) + (Number(toValue(value)) || 0);
    return computeExactly("sum", PLUS, [total, value], plain);
  }, 0);
}

/** Whether a value is text with a number that floating point would change. */
function isLongText(value: unknown): boolean {
  if (typeof value !== "string" || !/^\s*[+-]?\d/.test(value)) return false;
  const text = value.trim().replace(/^\+/, "");
  return Math.abs(Number(text)) > Number.MAX_SAFE_INTEGER && (INTEGER.test(text) || isLongNumber(text));
}

function integerOf(value: unknown): bigint | undefined {
  if (isLongText(value)) {
    const digits = INTEGER.exec((value as string).trim())?.[1];
    return digits === undefined || digits.length > MAX_DIGITS ? undefined : BigInt(digits.replace("+", ""));
  }
  const number = Number(value) || 0;
  return Number.isSafeInteger(number) ? BigInt(number) : undefined;
}

function textOrNumber(name: string, value: bigint): string | number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  const text = String(value);
  if (text.length > MAX_DIGITS)
    throw new NodeFailure("template_failed", `"${name}" returns more than ${MAX_DIGITS} digits`);
  return text;
}
