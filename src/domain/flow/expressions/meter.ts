import type { NodeFailure } from "../../runs/failure.ts";

/**
 * Counts the work of one evaluation and ends it when there is none left, so that no expression or template can hold
 * up a workflow. It counts instead of reading a clock, because a replay must come to the same end at the same place.
 */
export class Meter {
  #left: number;
  readonly #exceeded: () => NodeFailure;

  constructor(units: number, exceeded: () => NodeFailure) {
    this.#left = units;
    this.#exceeded = exceeded;
  }

  /** Takes `units` off what is left; throws once that is less than nothing. NaN and negative numbers take nothing off. */
  use(units: number): void {
    if (units > 0 && (this.#left -= units) < 0) {
      this.#left = 0;
      throw this.#exceeded();
    }
  }
}
