import { CancellationScope, isCancellation, sleep, workflowInfo } from "@temporalio/workflow";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { Json } from "../../src/domain/json.ts";
import type { PlanNode } from "../../src/domain/flow/plan/types.ts";
import type { PauseOpening, PauseResolution, Progress, RunWorkflowInput } from "../../src/domain/runs/run.ts";
import type { NodeReport, RunIdentity, RunReport } from "../../src/domain/runs/run-report.ts";
import { local, record } from "../activities.ts";

/** Reports in the input of an activity stay in the history: beyond this (characters) they are written on their own. */
const PIGGYBACK_CHARS = 16 * 1024;
/** Reports gathered before a long map writes them, so that its progress can be read. */
const FLUSH_AT = 200;
/** Reports that nothing carries along within this time (ms) are written on their own: outputs are among them. */
const TELL_AFTER_MS = 250;
/** Activities one workflow has under way at once; Temporal refuses 2000. */
const MOST_ACTIVITIES = 200;
/**
 * Work (see workOf) that a workflow does itself: in one evaluation, and in all of its life, since a process that takes it
 * over does all of it again. Each is a small part of the time after which Temporal takes a step for dead.
 */
const MAX_WORK_AT_ONCE = 1_000_000;
const MAX_WORK_IN_ALL = 10_000_000;
/** Iterations of inline flows that one workflow runs, for the same reason; maps with fewer than the second are not moved. */
export const INLINE_ITEMS = 1000;
const FEW_ITEMS = 50;
/** Microtask turns after which whatever follows from an event has begun (chains of awaits are a few turns long). */
const QUIET_TURNS = 20;

type ReportedState = Pick<RunReport, "state" | "state_reason" | "outputs" | "error" | "pauses_opened" | "checkpoint">;

/** What one workflow of a run knows and shares among its nodes: the record to be written, pauses, budgets, the end. */
export class RunContext {
  readonly input: RunWorkflowInput;
  readonly identity: RunIdentity;
  /** Everything the run does happens in here; cancelling it stops the run. */
  readonly scope = new CancellationScope();
  cancelReason: string | null = null;
  cancelled = false;
  timedOut = false;
  readonly running = new Set<string>();
  settledCount = 0;

  #progress: { -readonly [Key in keyof Progress]: Progress[Key] };
  #reports: NodeReport[] = [];
  /** When each report was made: how many there were by then. */
  readonly #order = new WeakMap<NodeReport, number>();
  #noted = 0;
  #taken: string[] = [];
  #pauses = new Map<string, (resolution: PauseResolution) => void>();
  #openings: PauseOpening[] = [];
  #opened: Promise<void> | undefined;
  #busy = 0;
  #pausedWritten = false;
  readonly #busySlices = new Map<string, boolean>();
  #iterations = 0;
  #slots = MOST_ACTIVITIES;
  #workLeft = MAX_WORK_IN_ALL;
  #inlineItems = 0;
  #flushing: Promise<void> | undefined;
  #waitingForSlot: Array<() => void> = [];
  #timer: CancellationScope | undefined;
  #telling = false;
  #teller: CancellationScope | undefined;
  #closing = false;
  #writing = new Set<Promise<unknown>>();
  readonly #onIdle: ((idle: boolean) => Promise<void>) | undefined;
  #idleTold = false;

  constructor(
    input: RunWorkflowInput,
    options: { identity?: RunIdentity; onIdle?: (idle: boolean) => Promise<void> } = {},
  ) {
    this.input = input;
    this.identity = options.identity ?? {
      org_id: input.org_id,
      run_id: input.run_id,
      project_id: input.project_id,
      flow_version: input.flow_version,
      temporal_run_id: workflowInfo().runId,
      started_at: new Date(Date.now()).toISOString(),
    };
    this.#onIdle = options.onIdle;
    this.#progress = { total_nodes: 0, started_nodes: 0, completed_nodes: 0, skipped_nodes: 0, current_node: null };
  }

  // ---------------------------------------------------------------- the record

  get progress(): Progress {
    return { ...this.#progress };
  }

  expect(totalNodes: number): void {
    this.#progress.total_nodes = totalNodes;
  }

  started(node: PlanNode, top: boolean): void {
    if (!top) return;
    this.#progress.started_nodes += 1;
    this.#progress.current_node = node.id;
  }

  ended(top: boolean, skipped: boolean): void {
    this.settledCount += 1;
    if (!top) return;
    if (skipped) this.#progress.skipped_nodes += 1;
    else this.#progress.completed_nodes += 1;
  }

  note(report: NodeReport): void {
    this.#noted += 1;
    this.#order.set(report, this.#noted);
    this.#reports.push(report);
    if (!this.#telling) void this.#tellSoon();
  }

  /** Writes what has been gathered when all that is left takes its time, be it one request or a delay of days. */
  async #tellSoon(): Promise<void> {
    this.#telling = true;
    await this.#quiet();
    const waits = this.#reports.length > 0 && !this.#closing && !this.stopped;
    if (waits) await this.#later(TELL_AFTER_MS);
    this.#telling = false;
    if (waits && this.#reports.length > 0 && !this.#closing) await this.write({});
  }

  /** Resolves after a time, or as soon as the run ends or is stopped. */
  async #later(ms: number): Promise<void> {
    const timer = new CancellationScope({ cancellable: true, parent: this.scope });
    this.#teller = timer;
    await timer
      .run(() => sleep(ms))
      .catch((error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
  }

  /**
   * Gives the gathered reports to an activity, which writes them along with its own; written here and now when they are
   * many. They come back when it fails: it may never have begun (cancelled in the step that scheduled it), and writing a
   * report twice changes nothing.
   */
  async carryReports<T>(activity: (reports: NodeReport[]) => Promise<T>): Promise<T> {
    if (this.#reports.length > FLUSH_AT || JSON.stringify(this.#reports).length > PIGGYBACK_CHARS) await this.write({});
    const carried = this.#reports.splice(0);
    try {
      return await activity(carried);
    } catch (error) {
      // Activities fail in any order; of two reports of a node the later one counts.
      this.#reports.push(...carried);
      this.#reports.sort((one, other) => (this.#order.get(one) ?? 0) - (this.#order.get(other) ?? 0));
      throw error;
    }
  }

  /**
   * Called between items: many reports are written. The items go on meanwhile, but not beyond as many again: what a step of
   * the workflow does is bounded by that.
   */
  async writeIfMany(): Promise<void> {
    while (this.#reports.length >= FLUSH_AT) {
      if (this.#flushing) {
        await this.#flushing;
        continue;
      }
      this.#flushing = this.write({}).finally(() => {
        this.#flushing = undefined;
      });
      await this.#flushing;
      return;
    }
  }

  /** Writes what has been gathered, and `more`, into the run's record. */
  async write(more: ReportedState): Promise<void> {
    const report = this.#takeReport(more);
    const writing = CancellationScope.nonCancellable(() => local.recordReport(report));
    this.#writing.add(writing);
    try {
      await writing;
    } finally {
      this.#writing.delete(writing);
    }
  }

  /** Writes what has been gathered, and the end, at the end of this very step of the workflow: nothing may come after it. */
  writeEnd(more: ReportedState): void {
    record.end(this.#takeReport(more));
  }

  #takeReport(more: ReportedState): RunReport {
    const taken = this.#taken.splice(0);
    return {
      run: this.identity,
      progress: this.progress,
      nodes: this.#reports.splice(0),
      ...(taken.length > 0 ? { pauses_taken: taken } : {}),
      ...more,
    };
  }

  // ---------------------------------------------------------------- work under way

  /** Runs something that keeps the run from counting as paused. `blocks` is false for work that ends by itself in no time. */
  async whileBusy<T>(work: () => Promise<T>, blocks = true): Promise<T> {
    if (blocks) this.#armTimeout();
    this.busy(1);
    try {
      return await work();
    } finally {
      this.busy(-1);
    }
  }

  /** Counts work in (+1) or out (-1); when none is left and a pause is open, the run is paused. */
  busy(change: 1 | -1): void {
    this.#busy += change;
    if (this.#busy === 0) this.checkIdle();
    else if (this.#idleTold) {
      this.#idleTold = false;
      void this.#onIdle?.(false);
    }
  }

  /** To be called when something has moved on: perhaps only pauses are left now. */
  checkIdle(): void {
    if (this.#busy === 0) void this.#settleIdleness();
  }

  /** Runs an activity when one of the workflow's slots is free. */
  async withSlot<T>(work: () => Promise<T>): Promise<T> {
    if (this.#slots > 0) this.#slots -= 1;
    else await new Promise<void>((resolve) => this.#waitingForSlot.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waitingForSlot.shift();
      if (next) next();
      else this.#slots += 1;
    }
  }

  /** Runs a slice of a map or loop; it counts as work except while it has said that only pauses are left of it. */
  async whileSliceBusy<T>(workflowId: string, work: () => Promise<T>): Promise<T> {
    this.#armTimeout();
    this.#busySlices.set(workflowId, true);
    this.busy(1);
    try {
      return await work();
    } finally {
      const counted = this.#busySlices.get(workflowId);
      this.#busySlices.delete(workflowId);
      if (counted) this.busy(-1);
    }
  }

  sliceIdle(workflowId: string, idle: boolean): void {
    const counted = this.#busySlices.get(workflowId);
    if (counted === undefined || counted === !idle) return;
    this.#busySlices.set(workflowId, !idle);
    this.busy(idle ? -1 : 1);
  }

  /** Counts iterations of maps and loops against the run's limit. Throws NodeFailure beyond it. */
  spendIterations(count: number): void {
    this.#iterations += count;
    const most = this.input.limits.max_iterations;
    if (this.#iterations > most) {
      throw new NodeFailure(
        "iteration_limit_reached",
        `The run would have more than ${most} iterations of its maps and loops. Give them less, or split the run.`,
      );
    }
  }

  /** Whether this workflow may run so many more items of inline flows itself. */
  takesInline(items: number): boolean {
    if (items > FEW_ITEMS && this.#inlineItems + items > INLINE_ITEMS) return false;
    this.#inlineItems += items;
    return true;
  }

  /** Whether this workflow may do so much work itself, and if so counts it. */
  takesWork(work: number): boolean {
    if (work > Math.min(MAX_WORK_AT_ONCE, this.#workLeft)) return false;
    this.#workLeft -= work;
    return true;
  }

  get iterations(): number {
    return this.#iterations;
  }

  get position(): { running: string[]; paused: string[]; settled: number } {
    return { running: [...this.running], paused: [...this.#pauses.keys()], settled: this.settledCount };
  }

  // ---------------------------------------------------------------- pauses

  /** Opens a pause and waits for its answer; null when `expiry` came first. */
  async pause(opening: PauseOpening, expiresInMs: number | null): Promise<PauseResolution | null> {
    this.#armTimeout();
    const answered = new Promise<PauseResolution>((resolve) => this.#pauses.set(opening.pause_id, resolve));
    try {
      this.#openings.push(opening);
      await this.#quiet();
      // Pauses that open together are written together: who sees the run paused sees all of them.
      if (this.#openings.length > 0) this.#opened = this.#open();
      await this.#opened;
      this.checkIdle();
      if (expiresInMs === null) return await cancellable(answered);
      const timer = new CancellationScope();
      try {
        return await Promise.race([cancellable(answered), timer.run(() => sleep(expiresInMs)).then(() => null)]);
      } finally {
        timer.cancel();
      }
    } finally {
      this.#pauses.delete(opening.pause_id);
      this.#pausedWritten = false;
    }
  }

  async #open(): Promise<void> {
    const idle = this.#busy === 0 && !this.#onIdle;
    // Before the write: nothing may be missed between the row and the wait for its answer.
    if (idle) this.#pausedWritten = true;
    await this.write({ pauses_opened: this.#openings.splice(0), ...(idle ? { state: "PAUSED" as const } : {}) });
  }

  /** Takes an answer; a second one for the same pause, or one for a pause that is gone, changes nothing. */
  answer(pauseId: string, resolution: PauseResolution): void {
    this.#pauses.get(pauseId)?.(resolution);
  }

  /** Has the next write say that the workflow has the answer, so that it is not sent again. */
  taken(pauseId: string): void {
    this.#taken.push(pauseId);
  }

  // ---------------------------------------------------------------- the end

  /** Whether the run has been told to end. */
  get stopped(): boolean {
    return this.cancelled || this.timedOut;
  }

  cancel(reason: string | null): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.cancelReason = reason;
    this.scope.cancel();
  }

  /** Stops the timers and waits for writes that nobody waits for. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#timer?.cancel();
    this.#teller?.cancel();
    await Promise.allSettled(this.#writing);
  }

  /** The timer starts with the first work that takes time: a run of inline nodes ends without one. */
  #armTimeout(): void {
    if (this.#timer || this.#onIdle) return;
    const elapsed = Date.now() - Date.parse(this.identity.started_at);
    const left = Math.max(1, this.input.timeout_seconds * 1000 - elapsed);
    const timer = new CancellationScope({ cancellable: true, parent: this.scope });
    this.#timer = timer;
    timer
      .run(() => sleep(left))
      .then(() => {
        this.timedOut = true;
        this.scope.cancel();
      })
      .catch((error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
  }

  /** Whether somebody is waited for: by this workflow, or by a slice that has nothing else to do. */
  get #anyPause(): boolean {
    return this.#pauses.size > 0 || [...this.#busySlices.values()].includes(false);
  }

  async #quiet(): Promise<void> {
    for (let turn = 0; turn < QUIET_TURNS; turn += 1) await Promise.resolve();
  }

  async #settleIdleness(): Promise<void> {
    if (!this.#anyPause) return;
    await this.#quiet();
    if (this.#busy > 0 || !this.#anyPause || this.cancelled) return;
    if (this.#onIdle) {
      if (this.#idleTold) return;
      this.#idleTold = true;
      await this.#onIdle(true);
    } else if (!this.#pausedWritten) {
      this.#pausedWritten = true;
      await this.write({ state: "PAUSED" });
    }
  }
}

/** A promise that also rejects when the current scope is cancelled. */
function cancellable<T>(promise: Promise<T>): Promise<T> {
  const scope = CancellationScope.current();
  return Promise.race([promise, scope.cancelRequested]);
}

/** Characters of the JSON text: what decides whether a value travels by itself or by reference. */
export function jsonLength(value: Json): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 24;
  return JSON.stringify(value).length;
}
