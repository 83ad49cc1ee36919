import { CancellationScope, isCancellation, sleep } from "@temporalio/workflow";
import type { PlanNode } from "../../src/domain/flow/plan/types.ts";
import type { RunState, Progress } from "../../src/domain/runs/run.ts";
import type { NodeReport, RunIdentity, RunReport } from "../../src/domain/runs/run-report.ts";
import { local, record } from "../activities.ts";
import { whenStepEnds } from "./step-end.ts";
import type { Cancellation } from "./cancellation.ts";
import type { Work } from "./work.ts";

/** Longer reports (characters) are not passed to an activity, because its input stays in the history. */
const MAX_CARRIED_CHARS = 16 * 1024;
/** How many reports are gathered before they are written, so that the progress of a long map becomes visible. */
const MAX_GATHERED = 200;
/** Reports that no activity has carried within this time (ms) are written separately, because there may be outputs among them. */
const FLUSH_AFTER_MS = 250;

type ReportedState = Omit<RunReport, "run" | "progress" | "nodes">;

/** The unwritten part of a run's record. Gathers reports of nodes and writes them together, or along with something else. */
export class RunRecord {
  readonly identity: RunIdentity;
  readonly #work: Work;
  readonly #cancellation: Cancellation;
  readonly #progress: { -readonly [Key in keyof Progress]: Progress[Key] };
  #settled = 0;
  #reports: NodeReport[] = [];
  /** The number of each report, in the order in which they were noted. */
  readonly #order = new WeakMap<NodeReport, number>();
  #noted = 0;
  #watching = false;
  #pausesTaken: string[] = [];
  readonly #writing = new Set<Promise<unknown>>();
  #flushing: Promise<unknown> | undefined;
  #timer: CancellationScope | undefined;
  #closed = false;

  constructor(identity: RunIdentity, work: Work, cancellation: Cancellation) {
    this.identity = identity;
    this.#work = work;
    this.#cancellation = cancellation;
    this.#progress = { total_nodes: 0, started_nodes: 0, completed_nodes: 0, skipped_nodes: 0, current_node: null };
  }

  get progress(): Progress {
    return { ...this.#progress };
  }

  /** Number of settled nodes, including those in iterations. */
  get settled(): number {
    return this.#settled;
  }

  expect(totalNodes: number): void {
    this.#progress.total_nodes = totalNodes;
  }

  nodeStarted(node: PlanNode, top: boolean): void {
    if (!top) return;
    this.#progress.started_nodes += 1;
    this.#progress.current_node = node.id;
  }

  nodeSettled(top: boolean, skipped: boolean): void {
    this.#settled += 1;
    if (!top) return;
    if (skipped) this.#progress.skipped_nodes += 1;
    else this.#progress.completed_nodes += 1;
  }

  /** Adds a report to the next write. */
  note(report: NodeReport): void {
    this.#noted += 1;
    this.#order.set(report, this.#noted);
    this.#reports.push(report);
  }

  /** From now on, writes reports that no activity carries once only long work is left, such as a request or a delay of days. */
  writeWhileWaiting(): void {
    if (this.#watching) return;
    this.#watching = true;
    void CancellationScope.nonCancellable(() => this.#flushWhileWaiting());
  }

  /** The next write records that the workflow has received a pause's answer, so that the answer is not sent again. */
  pauseTaken(pauseId: string): void {
    this.#pausesTaken.push(pauseId);
  }

  /**
   * Passes the gathered reports to an activity, which writes them with its own; if they are many, they are written here instead. If the
   * activity fails, the reports come back, because it may never have started. Writing a report twice has no effect.
   */
  async carry<T>(activity: (reports: NodeReport[]) => Promise<T>): Promise<T> {
    if (this.#reports.length > MAX_GATHERED || JSON.stringify(this.#reports).length > MAX_CARRIED_CHARS)
      await this.write();
    const carried = this.#reports.splice(0);
    try {
      return await activity(carried);
    } catch (error) {
      // Activities may fail in any order, and of two reports of a node the later one must win.
      this.#reports.push(...carried);
      this.#reports.sort((one, other) => (this.#order.get(one) ?? 0) - (this.#order.get(other) ?? 0));
      throw error;
    }
  }

  /**
   * Called after each item: writes the reports once there are many. Other items continue meanwhile, but only until as many reports have
   * been gathered again, which limits the work of one workflow step.
   */
  async flushIfMany(): Promise<void> {
    while (this.#reports.length >= MAX_GATHERED) {
      if (this.#flushing) {
        await this.#flushing;
        continue;
      }
      this.#flushing = this.flush().finally(() => {
        this.#flushing = undefined;
      });
      await this.#flushing;
      return;
    }
  }

  /** Writes the gathered reports, counted as work of a node. */
  flush(): Promise<unknown> {
    return this.#work.whileLocalActivityRuns(() => this.write());
  }

  /** Writes the gathered reports and `more` to the run's record. Resolves with the run's state after the write. */
  async write(more: ReportedState = {}): Promise<RunState> {
    const report = this.#takeReport(more);
    const writing = CancellationScope.nonCancellable(() => local.recordReport(report));
    this.#writing.add(writing);
    try {
      return await writing;
    } finally {
      this.#writing.delete(writing);
    }
  }

  /** Writes the gathered reports and the run's end when this workflow step ends. Nothing may be written after it. */
  writeEnd(more: ReportedState): void {
    record.end(this.#takeReport(more));
  }

  /** After this, only the end may be written. Returns the pending writes that nothing else awaits, if any. */
  close(): Promise<unknown> | undefined {
    this.#closed = true;
    this.#timer?.cancel();
    return this.#writing.size === 0 ? undefined : Promise.allSettled(this.#writing);
  }

  #takeReport(more: ReportedState): RunReport {
    const taken = this.#pausesTaken.splice(0);
    return {
      run: this.identity,
      progress: this.progress,
      nodes: this.#reports.splice(0),
      ...(taken.length > 0 ? { pauses_taken: taken } : {}),
      ...more,
    };
  }

  async #flushWhileWaiting(): Promise<void> {
    for (;;) {
      // While a local activity runs, what follows it may carry the reports. This is the same on replay, where local activities end
      // immediately.
      await whenStepEnds(() => this.#reports.length > 0 && this.#work.localActivities === 0 && !this.#stopped);
      await this.#later(FLUSH_AFTER_MS);
      if (this.#stopped) return;
      if (this.#reports.length > 0) await this.write();
    }
  }

  get #stopped(): boolean {
    return this.#closed || this.#cancellation.stopped;
  }

  /** Resolves after a time, or earlier if the run ends or stops. */
  async #later(ms: number): Promise<void> {
    this.#timer = new CancellationScope({ cancellable: true, parent: this.#cancellation.scope });
    await this.#timer
      .run(() => sleep(ms))
      .catch((error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
  }
}
