import type { NodeFailure } from "../../runs/failure.ts";

/**
 * Counts the work of one evaluation and ends it when there is none left, so that no expression or template can hold
 * up a workflow. It counts instead of reading a clock, because a replay must come to the same end at the same place.
 */
export class Meter {
  #left: number;
  readonly #units: number;
  readonly #exceeded: () => NodeFailure;

  constructor(units: number, exceeded: () => NodeFailure) {
    this.#left = units;
    this.#units = units;
    this.#exceeded = exceeded;
  }

  /** What can still be used. */
  get left(): number {
    return this.#left;
  }

  /** What has been used, at most what there was. */
  get used(): number {
    return this.#units - this.#left;
  }

  /** Takes `units` off what is left; throws once that is less than nothing. NaN and negative numbers take nothing off. */
  use(units: number): void {
    if (units > 0 && (this.#left -= units) < 0) {
      this.#left = 0;
      throw this.#exceeded();
    }
  }
}

/**
 * Units (of 20 ns) that listing the keys of an object takes: V8 keeps large ones as hash tables, and needs a
 * microsecond a key to bring those into order.
 */
export const keyUnits = (keys: number): number => (keys > 1_000 ? keys * 32 : keys * 2);
