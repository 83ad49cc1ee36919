import type { NodeFailure } from "../../runs/failure.ts";

/**
 * Counts the work of an evaluation and aborts it when the budget is spent, so that no expression or template can block a workflow. It
 * counts instead of reading a clock, because a replay must abort at the same point.
 */
export class Meter {
  #left: number;
  readonly #exceeded: () => NodeFailure;

  constructor(units: number, exceeded: () => NodeFailure) {
    this.#left = units;
    this.#exceeded = exceeded;
  }

  /** Spends `units` of the budget; throws once it is exceeded. NaN and negative numbers spend nothing. */
  use(units: number): void {
    if (units > 0 && (this.#left -= units) < 0) {
      this.#left = 0;
      throw this.#exceeded();
    }
  }
}
