import type { Meter } from "../meter.ts";
import type { Value } from "./values.ts";
import { CONVERSIONS } from "./conversions.ts";
import { STRING_FUNCTIONS } from "./string-functions.ts";
import { TIME_FUNCTIONS } from "./time-functions.ts";

/** A function of the language: how it may be called and what it does. */
export interface CelFunction {
  /** How many arguments `name(...)` takes, or undefined where it is not called like that. */
  readonly plain?: readonly number[];
  /** How many arguments `value.name(...)` takes beside the value, or undefined where it is not called like that. */
  readonly method?: readonly number[];
  /** `args` starts with the value the method is called on. Throws NodeFailure. */
  readonly apply: (args: readonly Value[], meter: Meter) => Value;
}

export const FUNCTIONS: ReadonlyMap<string, CelFunction> = new Map([
  ...CONVERSIONS,
  ...STRING_FUNCTIONS,
  ...TIME_FUNCTIONS,
]);
