import { CancellationScope, isCancellation, sleep } from "@temporalio/workflow";
import type { PlanNode } from "../../src/domain/flow/plan/types.ts";
import type { RunState, Progress } from "../../src/domain/runs/run.ts";
import type { NodeReport, RunIdentity, RunReport } from "../../src/domain/runs/run-report.ts";
import { local, record } from "../activities.ts";
import { whenStepEnds } from "./step-end.ts";
import type { Cancellation } from "./cancellation.ts";
import type { Work } from "./work.ts";

/** The input of an activity stays in the history, so longer reports (characters) are written alone. */
const MAX_CARRIED_CHARS = 16 * 1024;
/** Reports that a long map gathers before it writes them, so that its progress can be read. */
const MAX_GATHERED = 200;
/** Reports that no activity has carried within this time (ms) are written alone, because outputs are among them. */
const FLUSH_AFTER_MS = 250;

type ReportedState = Omit<RunReport, "run" | "progress" | "nodes">;

/**
 * The unwritten part of a run's record: it gathers reports of nodes and writes them together, or along with something
 * else.
 */
export class RunRecord {
  readonly identity: RunIdentity;
  readonly #work: Work;
  readonly #cancellation: Cancellation;
  readonly #progress: { -readonly [Key in keyof Progress]: Progress[Key] };
  #settled = 0;
  #reports: NodeReport[] = [];
  /** The order of the reports: how many there were before each. */
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

  /** How many nodes have settled, iterations included. */
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

  /** Gathers a report, to be written with the next write. */
  note(report: NodeReport): void {
    this.#noted += 1;
    this.#order.set(report, this.#noted);
    this.#reports.push(report);
  }

  /**
   * From now on, when only long work is left (a request, or a delay of days), writes the reports that no activity
   * carries.
   */
  writeWhileWaiting(): void {
    if (this.#watching) return;
    this.#watching = true;
    void CancellationScope.nonCancellable(() => this.#flushWhileWaiting());
  }

  /** Lets the next write record that the workflow has the answer to a pause, so that it is not sent again. */
  pauseTaken(pauseId: string): void {
    this.#pausesTaken.push(pauseId);
  }

  /**
   * Gives the gathered reports to an activity, which writes them with its own; many reports are written here instead.
   * If the activity fails they come back: it may never have started (cancelled in the step that scheduled it), and
   * writing a report twice changes nothing.
   */
  async carry<T>(activity: (reports: NodeReport[]) => Promise<T>): Promise<T> {
    if (this.#reports.length > MAX_GATHERED || JSON.stringify(this.#reports).length > MAX_CARRIED_CHARS)
      await this.write();
    const carried = this.#reports.splice(0);
    try {
      return await activity(carried);
    } catch (error) {
      // Activities fail in any order; the later of two reports of a node counts.
      this.#reports.push(...carried);
      this.#reports.sort((one, other) => (this.#order.get(one) ?? 0) - (this.#order.get(other) ?? 0));
      throw error;
    }
  }

  /**
   * Called between items: writes reports once there are many. Items continue meanwhile, but only until there are as
   * many again, which bounds the work of one workflow step.
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

  /** Writes the gathered reports as part of a node's work. */
  flush(): Promise<unknown> {
    return this.#work.whileLocalActivityRuns(() => this.write());
  }

  /** Writes the gathered reports and `more` into the run's record; resolves with the run's state after that. */
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

  /** Writes the gathered reports and the end at the end of this step of the workflow. Nothing may follow it. */
  writeEnd(more: ReportedState): void {
    record.end(this.#takeReport(more));
  }

  /** From now on only the end is written. Returns the writes that nothing else awaits, if any. */
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
      // A local activity's next write may carry the reports. Replay gives the same result, although local activities
      // end at once in it.
      await whenStepEnds(() => this.#reports.length > 0 && this.#work.localActivities === 0 && !this.#stopped);
      await this.#later(FLUSH_AFTER_MS);
      if (this.#stopped) return;
      if (this.#reports.length > 0) await this.write();
    }
  }

  get #stopped(): boolean {
    return this.#closed || this.#cancellation.stopped;
  }

  /** Resolves after a time, or as soon as the run ends or is stopped. */
  async #later(ms: number): Promise<void> {
    this.#timer = new CancellationScope({ cancellable: true, parent: this.#cancellation.scope });
    await this.#timer
      .run(() => sleep(ms))
      .catch((error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
  }
}
