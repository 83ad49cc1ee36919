import { MAX_VALUE_BYTES } from "../../../json.ts";
import { NodeFailure } from "../../../runs/failure.ts";

/**
 * Ticks of one evaluation: one for each syntax tree node evaluated and for each part of a value that is walked. A tick takes about 20 ns,
 * so the limit is about a tenth of a second, enough for a few steps over each of 100,000 elements.
 */
const MAX_TICKS = 5_000_000;

/** Most elements of a list that an expression creates. */
export const MAX_ITEMS = 1_000_000;

/** The failure of an expression whose ticks are used up. */
export const tooCostly = (): NodeFailure =>
  new NodeFailure(
    "expression_too_costly",
    "The expression exceeds its work limit for these values: use fewer or smaller lists and texts, or a code node",
  );

/**
 * Counts the work of an evaluation and aborts it when the budget is spent, so that no expression can block a workflow. It counts instead of
 * reading a clock, because a replay must abort at the same point.
 */
export class Meter {
  #left = MAX_TICKS;

  /** Spends `ticks` of the budget; throws once it is exceeded. NaN and negative numbers spend nothing. */
  use(ticks: number): void {
    if (ticks > 0 && (this.#left -= ticks) < 0) {
      this.#left = 0;
      throw tooCostly();
    }
  }
}

const tooLarge = (what: string): NodeFailure => new NodeFailure("value_too_large", `The expression creates ${what}`);

/** Throws if a text would exceed the limit for values. */
export const limitText = (chars: number): void => {
  if (chars > MAX_VALUE_BYTES) throw tooLarge("a text that is too long");
};

/** Throws if a list would exceed MAX_ITEMS. */
export const limitList = (length: number): void => {
  if (length > MAX_ITEMS) throw tooLarge(`a list of more than ${MAX_ITEMS} elements`);
};
