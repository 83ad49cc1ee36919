import type { CelFunction } from "./cel-function.ts";
import { CONVERSIONS } from "./conversions.ts";
import { STRING_FUNCTIONS } from "./string-functions.ts";
import { TIME_FUNCTIONS } from "./time-functions.ts";

/** The functions of the language by name. */
export const FUNCTIONS: ReadonlyMap<string, CelFunction> = new Map([
  ...CONVERSIONS,
  ...STRING_FUNCTIONS,
  ...TIME_FUNCTIONS,
]);
