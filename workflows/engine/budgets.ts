import { NodeFailure } from "../../src/domain/runs/failure.ts";

/**
 * The most work (see workOf) that a workflow does itself: in one evaluation, and in total, because a process that takes over the workflow
 * repeats all of it. Each limit is a small part of the time after which Temporal considers a workflow task dead.
 */
const MAX_WORK_AT_ONCE = 1_000_000;
const MAX_WORK_IN_ALL = 10_000_000;
/** Most iterations of inline flows in one workflow, for the same reason. Maps with at most FEW_ITEMS items always run in the workflow. */
export const MAX_INLINE_ITEMS = 1000;
const FEW_ITEMS = 50;

/** The remaining budget of one of a run's workflows: the run's iterations, and the workflow's own work. */
export class Budgets {
  readonly #maxIterations: number;
  #iterations: number;
  #inlineItems = 0;
  #workLeft = MAX_WORK_IN_ALL;

  /** `spent`: iterations that the run used before this workflow. */
  constructor(maxIterations: number, spent: number) {
    this.#maxIterations = maxIterations;
    this.#iterations = spent;
  }

  /** Number of iterations of the run's maps and loops so far. */
  get iterations(): number {
    return this.#iterations;
  }

  /** Counts iterations against the run's limit. Throws NodeFailure beyond it. */
  spendIterations(count: number): void {
    this.#iterations += count;
    if (this.#iterations > this.#maxIterations) {
      throw new NodeFailure(
        "iteration_limit_reached",
        `Limit of ${this.#maxIterations} map and loop iterations reached. Reduce the items or split the run.`,
      );
    }
  }

  /** Whether this workflow may run this many more iterations of inline flows; if so, counts them. */
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
