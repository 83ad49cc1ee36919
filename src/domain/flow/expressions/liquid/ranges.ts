import {
  evalTokenValue,
  Expression,
  TokenKind,
  Tokenizer,
  TypeGuards,
  type Context,
  type Token,
} from "liquidjs/dist/liquid.browser.mjs";
import { NodeFailure } from "../../../runs/failure.ts";
import { meterOf } from "./text.ts";
import { toNumber } from "../natives.ts";

/** A range is a list before anything looks at it, built in one step that no clock can interrupt. */
const MAX_RANGE = 100_000;
const UNITS_PER_NUMBER = 8;

/** How many numbers a range has: from its lower bound in steps of one. */
const lengthOf = (low: number, high: number): number => {
  if (high >= low && !(high - low < MAX_RANGE)) {
    throw new NodeFailure("template_failed", `A range has at most ${MAX_RANGE} elements`);
  }
  return Math.ceil(high - low + 1);
};

/** Lists and objects are no numbers: making one of them would first make a text of all that is in them. */
const boundOf = (value: unknown, context: Context): number => {
  if (typeof value === "string") meterOf(context).use(value.length);
  return typeof value === "object" && value !== null ? NaN : toNumber(value);
};

/** Stands where the engine's own range would be, which builds a list of any length. */
export class RangeExpression extends Expression {
  override *evaluate(context: Context): Generator<unknown, number[], unknown> {
    const low = boundOf(yield evalTokenValue(this.postfix[0], context), context);
    const high = boundOf(yield evalTokenValue(this.postfix[1], context), context);
    const length = lengthOf(low, high);
    meterOf(context).use(length * UNITS_PER_NUMBER);
    const numbers: number[] = [];
    // Counted, because from 2 ** 53 on adding one changes nothing.
    for (let number = low; numbers.length < length; number += 1) numbers.push(number);
    return numbers;
  }
}

const readGroupOrRange = Tokenizer.prototype.readGroupOrRange;

const literalOf = (token: Token): number => (TypeGuards.isNumberToken(token) ? token.content : NaN);

function readRange(this: Tokenizer): ReturnType<typeof readGroupOrRange> {
  const token = readGroupOrRange.call(this);
  if (!TypeGuards.isRangeToken(token)) return token;
  lengthOf(literalOf(token.lhs), literalOf(token.rhs));
  const initial = new RangeExpression([token.lhs, token.rhs]);
  return Object.assign(token, { kind: TokenKind.FilteredValue, initial, filters: [] });
}

/**
 * Makes all ranges that are read from now on ours, in paths that filters read while rendering as well. The engine has
 * no other place for that.
 */
export const limitRanges = (): void => {
  Tokenizer.prototype.readGroupOrRange = readRange;
};
