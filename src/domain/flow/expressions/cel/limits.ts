import { MAX_VALUE_BYTES } from "../../../json.ts";
import { NodeFailure } from "../../../runs/failure.ts";
import { Meter } from "../meter.ts";

/**
 * Units of work of one evaluation. A unit is a step of a macro or some 20 ns of anything else, so this is about a tenth
 * of a second on a slow machine: enough for a few steps over each of 100 000 elements.
 */
const MAX_UNITS = 5_000_000;

/** The failure of an expression whose budget is used up. */
export const tooCostly = (): NodeFailure =>
  new NodeFailure(
    "expression_too_costly",
    "The expression does too much work on these values: use fewer or smaller lists and texts, or a code node",
  );

/** A fresh budget for one evaluation. */
export const celMeter = (): Meter => new Meter(MAX_UNITS, tooCostly);

/** A fresh budget for all expressions of a node together: they are evaluated in one go. */
export const celMeterOfNode = (): Meter => new Meter(2 * MAX_UNITS, tooCostly);

/** Takes the cost of making a text of `chars` characters; throws where it is longer than any value may be. */
export const limitText = (chars: number, meter: Meter, unitsPerChar = 1 / 16): void => {
  if (chars > MAX_VALUE_BYTES) throw new NodeFailure("value_too_large", "The expression makes a text that is too long");
  meter.use(chars * unitsPerChar);
};
