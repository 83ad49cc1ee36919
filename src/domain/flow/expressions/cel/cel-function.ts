import { NativeBytes, isArray } from "../natives.ts";
import type { Value } from "./values.ts";
import type { Meter } from "./limits.ts";

/** A function of the language: how it may be called and what it does. */
export interface CelFunction {
  /** How many arguments `name(...)` takes, or undefined if it cannot be called like that. */
  readonly plain?: readonly number[];
  /** How many arguments `value.name(...)` takes beside the value, or undefined if it cannot be called like that. */
  readonly method?: readonly number[];
  /**
   * `args` starts with the value that the method is called on. The length of the arguments and of the result determines the cost; the few
   * functions that cost more use `meter`. Throws NodeFailure.
   */
  readonly apply: (args: readonly Value[], meter: Meter) => Value;
}

const lengthOf = (value: Value | undefined): number => {
  if (typeof value === "string") return value.length / 16;
  return isArray(value) || value instanceof NativeBytes ? value.length : 0;
};

/**
 * Ticks of a call: one, plus the length of the value it is called on, multiplied by one more for every 64 characters of another text,
 * because searching one text in another can take the product of their lengths.
 */
export const ticksOfCall = (args: readonly Value[]): number => {
  let factor = 1;
  for (let i = 1; i < args.length; i++) {
    const arg = args[i];
    if (typeof arg === "string") factor += arg.length / 64;
  }
  return 1 + lengthOf(args[0]) * factor;
};

/** Ticks for the value that a call returns. */
export const ticksOfResult = lengthOf;

/** Ticks of an operator: one, plus a part of the length of the texts, lists and bytes that it compares or joins. */
export const ticksOfOperator = (left: Value, right: Value): number => 1 + (lengthOf(left) + lengthOf(right)) / 4;
