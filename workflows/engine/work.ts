import { sleep } from "@temporalio/workflow";
import { isHandedBack, type HandedBack } from "../../src/domain/runs/handed-back.ts";
import type { Clock } from "./clock.ts";

/** Most concurrent activities of one workflow; Temporal rejects more than 2000. */
const MAX_ACTIVITIES = 200;

/**
 * Counts the pending work of one of a run's workflows. Between two workflow steps the counts are exact: a node waits either for something
 * counted here, or for a person.
 */
export class Work {
  /** Paths of the nodes that have started but not settled. */
  readonly running = new Set<string>();
  readonly #clock: Clock;
  #pending = 0;
  #localActivities = 0;
  #changes = 0;
  #slots = MAX_ACTIVITIES;
  readonly #waitingForSlot: Array<() => void> = [];
  /** The unfinished child workflows, with false for one that waits only for people. */
  readonly #children = new Map<string, boolean>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Amount of pending work that does not need a person to end. */
  get pending(): number {
    return this.#pending;
  }

  /** Number of running local activities: evaluations and writes, which end quickly. */
  get localActivities(): number {
    return this.#localActivities;
  }

  /** Counts starts of work and changes of children; if it is unchanged, nothing happened in between. */
  get changes(): number {
    return this.#changes;
  }

  /** Whether a child workflow waits only for people. */
  get anyChildIdle(): boolean {
    return [...this.#children.values()].includes(false);
  }

  /** Runs work that may take long. */
  whileBusy<T>(work: () => Promise<T>): Promise<T> {
    this.#clock.start();
    return this.#counted(work);
  }

  /** Runs a regular activity when one of the workflow's slots is free. */
  whileActivityRuns<T>(activity: () => Promise<T>): Promise<T> {
    this.#clock.start();
    return this.#counted(activity, { inSlot: true });
  }

  /** Runs a local activity. It ends soon, so it neither starts the run's clock nor needs its own record. */
  whileLocalActivityRuns<T>(work: () => Promise<T>): Promise<T> {
    return this.#counted(work, { local: true });
  }

  /**
   * The same, once one of the workflow's slots is free. A process in which the organisation has used its share hands the work back; the
   * workflow then waits, which counts as long work, and tries again.
   */
  async whileLocalActivityRunsInSlot<T>(work: () => Promise<T | HandedBack>): Promise<T> {
    for (;;) {
      const result = await this.#counted(work, { local: true, inSlot: true });
      if (!isHandedBack(result)) return result;
      await this.whileBusy(() => sleep(result.handed_back_ms));
    }
  }

  /** Runs a child workflow, which counts as pending unless it waits only for people. */
  async whileChildRuns<T>(workflowId: string, child: () => Promise<T>): Promise<T> {
    this.#clock.start();
    this.#children.set(workflowId, true);
    this.#change(1);
    try {
      return await child();
    } finally {
      // Also counts the end of a child that was idle, because its pause has ended and the run must be recorded as resumed.
      this.#changes += 1;
      if (this.#children.get(workflowId)) this.#change(-1);
      this.#children.delete(workflowId);
    }
  }

  /** Receives a child's report on whether it waits only for people. */
  childIdle(workflowId: string, idle: boolean): void {
    const counted = this.#children.get(workflowId);
    if (counted === undefined) return;
    this.#changes += 1;
    if (counted !== idle) return;
    this.#children.set(workflowId, !idle);
    this.#change(idle ? -1 : 1);
  }

  async #counted<T>(work: () => Promise<T>, { local = false, inSlot = false } = {}): Promise<T> {
    if (local) this.#localActivities += 1;
    this.#change(1);
    try {
      if (inSlot && this.#slots === 0) await new Promise<void>((resolve) => this.#waitingForSlot.push(resolve));
      else if (inSlot) this.#slots -= 1;
      return await work();
    } finally {
      if (inSlot) this.#freeSlot();
      this.#change(-1);
      if (local) this.#localActivities -= 1;
    }
  }

  #freeSlot(): void {
    const next = this.#waitingForSlot.shift();
    if (next) next();
    else this.#slots += 1;
  }

  #change(by: 1 | -1): void {
    this.#pending += by;
    if (by > 0) this.#changes += 1;
  }
}
