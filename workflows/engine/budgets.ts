import { NodeFailure } from "../../src/domain/runs/failure.ts";

/**
 * The most work (see workOf) that a workflow does itself: in one evaluation, and in total, because a process that takes it
 * over repeats all of it. Each takes a small part of the time after which Temporal considers a step dead.
 */
const MAX_WORK_AT_ONCE = 1_000_000;
const MAX_WORK_IN_ALL = 10_000_000;
/**
 * Iterations of inline flows that one workflow runs, for the same reason. Maps with fewer than FEW_ITEMS always run in
 * it.
 */
export const MAX_INLINE_ITEMS = 1000;
const FEW_ITEMS = 50;

/** The remaining budget of one workflow of a run: the run's iterations, and the workflow's own work. */
export class Budgets {
  readonly #maxIterations: number;
  #iterations: number;
  #inlineItems = 0;
  #workLeft = MAX_WORK_IN_ALL;

  /** `spent`: iterations of the run before this workflow. */
  constructor(maxIterations: number, spent: number) {
    this.#maxIterations = maxIterations;
    this.#iterations = spent;
  }

  /** Iterations of the run's maps and loops so far. */
  get iterations(): number {
    return this.#iterations;
  }

  /** Counts iterations of maps and loops against the run's limit. Throws NodeFailure beyond it. */
  spendIterations(count: number): void {
    this.#iterations += count;
    if (this.#iterations > this.#maxIterations) {
      throw new NodeFailure(
        "iteration_limit_reached",
        `The run would have more than ${this.#maxIterations} iterations of its maps and loops. Give them less, or split the run.`,
      );
    }
  }

  /** Whether this workflow may run this many more items of inline flows; counts them. */
  takesInline(items: number): boolean {
    if (items > FEW_ITEMS && this.#inlineItems + items > MAX_INLINE_ITEMS) return false;
    this.#inlineItems += items;
    return true;
  }

  /** Whether this workflow may do this much work itself; if so, counts it. */
  takesWork(work: number): boolean {
    if (work > Math.min(MAX_WORK_AT_ONCE, this.#workLeft)) return false;
    this.#workLeft -= work;
    return true;
  }
}
