import type { Meter } from "../meter.ts";
import { NativeBytes, isArray } from "../natives.ts";
import type { Value } from "./values.ts";

/** A function of the language: how it may be called and what it does. */
export interface CelFunction {
  /** How many arguments `name(...)` takes, or undefined if it cannot be called like that. */
  readonly plain?: readonly number[];
  /** How many arguments `value.name(...)` takes beside the value, or undefined if it cannot be called like that. */
  readonly method?: readonly number[];
  /**
   * `args` starts with the value the method is called on. What it costs is known from the length of its arguments and
   * of its result; `meter` is for the few functions that take more than that. Throws NodeFailure.
   */
  readonly apply: (args: readonly Value[], meter: Meter) => Value;
}

const lengthOf = (value: Value | undefined): number => {
  if (typeof value === "string") return value.length / 16;
  return isArray(value) || value instanceof NativeBytes ? value.length : 0;
};

/**
 * Ticks of a call: one, and the length of what it is called on; as often again for every 64 characters of another text,
 * because searching for one text in another takes, at worst, the product of their lengths.
 */
export const ticksOfCall = (args: readonly Value[]): number => {
  let factor = 1;
  for (let i = 1; i < args.length; i++) {
    const arg = args[i];
    if (typeof arg === "string") factor += arg.length / 64;
  }
  return 1 + lengthOf(args[0]) * factor;
};

/** Ticks of the value that a call has made. */
export const ticksOfResult = lengthOf;

/** Ticks of an operator: one, and the length of texts, lists and bytes on both sides, which it compares or joins. */
export const ticksOfOperator = (left: Value, right: Value): number => 1 + (lengthOf(left) + lengthOf(right)) / 4;
