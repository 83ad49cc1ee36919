import { CancellationScope, sleep } from "@temporalio/workflow";
import type { PauseOpening, PauseResolution } from "../../src/domain/runs/run.ts";
import { whenStepEnds } from "./step-end.ts";
import type { Cancellation } from "./cancellation.ts";
import type { Clock } from "./clock.ts";
import type { RunRecord } from "./record.ts";
import type { Work } from "./work.ts";

export interface PausesDeps {
  readonly work: Work;
  readonly record: RunRecord;
  readonly clock: Clock;
  readonly cancellation: Cancellation;
  /** Whether this workflow writes the run's state; a slice leaves that to the run's own workflow. */
  readonly writesState: boolean;
  /** Whether the run is cancelled instead of paused. */
  readonly unattended: boolean;
  /** Tells the parent workflow whether this one waits only for people. */
  readonly notifyParent: ((idle: boolean) => Promise<void>) | undefined;
}

/** The pauses of one of a run's workflows: opens them, waits for answers, and reports when the workflow waits only for people. */
export class Pauses {
  readonly #deps: PausesDeps;
  readonly #waiting = new Map<string, (resolution: PauseResolution) => void>();
  #openings: Array<{ readonly opening: PauseOpening; readonly written: () => void }> = [];
  #ended = 0;
  #watching = false;
  #closed = false;
  /** The value of `#changes` when PAUSED was written, and when it was reported to the parent; undefined once the run has continued. */
  #pausedAt: number | undefined;
  #reportedAt: number | undefined;

  constructor(deps: PausesDeps) {
    this.#deps = deps;
  }

  /** IDs of the unanswered pauses. */
  get open(): string[] {
    return [...this.#waiting.keys()];
  }

  /** Opens a pause and waits for its answer; null if `expiresInMs` passed first. */
  async wait(opening: PauseOpening, expiresInMs: number | null): Promise<PauseResolution | null> {
    const { pause_id } = opening;
    this.#deps.clock.start();
    const answered = new Promise<PauseResolution>((resolve) => this.#waiting.set(pause_id, resolve));
    const opened = new Promise<void>((written) => this.#openings.push({ opening, written }));
    this.watch();
    try {
      await cancellable(opened);
      if (expiresInMs === null) return await cancellable(answered);
      const timer = new CancellationScope();
      try {
        return await Promise.race([cancellable(answered), timer.run(() => sleep(expiresInMs)).then(() => null)]);
      } finally {
        timer.cancel();
      }
    } finally {
      this.#waiting.delete(pause_id);
      this.#openings = this.#openings.filter(({ opening: each }) => each !== opening);
      this.#ended += 1;
    }
  }

  /** Passes an answer to the waiting node. A repeated answer, or one for a pause that no longer waits, has no effect. */
  answer(pauseId: string, resolution: PauseResolution): void {
    this.#waiting.get(pauseId)?.(resolution);
  }

  /** Starts to report when this workflow or a child waits only for people. */
  watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    void CancellationScope.nonCancellable(() => this.#watch());
  }

  close(): void {
    this.#closed = true;
  }

  /** Records that the run has resumed if its recorded state is PAUSED, because a paused run cannot complete. */
  writeResumed(): Promise<unknown> | undefined {
    if (this.#pausedAt === undefined) return undefined;
    this.#pausedAt = undefined;
    return this.#deps.record.write({ state: "RESUMED" });
  }

  async #watch(): Promise<void> {
    const { cancellation, record, notifyParent, writesState } = this.#deps;
    for (;;) {
      // Waits until the workflow is idle, so that pauses that open together are written together and a reader of a paused run sees all of
      // them.
      await whenStepEnds(
        () => !this.#closed && !cancellation.stopped && (this.#openings.length > 0 || this.#isNews(this.#idle)),
      );
      const idle = this.#idle;
      const changes = this.#changes;
      const openings = this.#openings.splice(0);
      const paused = idle && writesState && this.#pausedAt !== changes;
      if (paused && this.#deps.unattended) {
        cancellation.cancel("run_paused");
        continue;
      }
      if (paused) this.#pausedAt = changes;
      if (openings.length > 0 || paused) {
        await record.write({
          ...(openings.length > 0 ? { pauses_opened: openings.map(({ opening }) => opening) } : {}),
          ...(paused ? { state: "PAUSED" as const } : {}),
        });
        for (const { written } of openings) written();
      }
      // An answer has already recorded this. A pause that ended in another way, by a time limit or the end of a child run, has not.
      if (!idle) await this.writeResumed();
      // This workflow's result tells its parent that it has ended.
      if (this.#closed) return;
      if (notifyParent && (idle ? this.#reportedAt !== changes : this.#reportedAt !== undefined)) {
        this.#reportedAt = idle ? changes : undefined;
        await notifyParent(idle);
      }
    }
  }

  /** Whether the workflow waits only for people. */
  get #idle(): boolean {
    const { work } = this.#deps;
    return work.pending === 0 && (this.#waiting.size > 0 || work.anyChildIdle);
  }

  /** Increases with every start of work and every end of a pause. */
  get #changes(): number {
    return this.#deps.work.changes + this.#ended;
  }

  #isNews(idle: boolean): boolean {
    const { notifyParent, writesState } = this.#deps;
    if (!idle) return this.#pausedAt !== undefined || this.#reportedAt !== undefined;
    return (writesState && this.#pausedAt !== this.#changes) || (!!notifyParent && this.#reportedAt !== this.#changes);
  }
}

/** Like the promise, but also rejects when the current scope is cancelled. */
function cancellable<T>(promise: Promise<T>): Promise<T> {
  const scope = CancellationScope.current();
  return Promise.race([promise, scope.cancelRequested]);
}
