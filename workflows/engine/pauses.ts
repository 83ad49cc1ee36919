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
  /** Whether this workflow writes the state of its run; a slice leaves that to the run's own workflow. */
  readonly writesState: boolean;
  /** Whether the run is cancelled instead of being paused. */
  readonly unattended: boolean;
  /** Tells the parent workflow whether this one only waits for people. */
  readonly notifyParent: ((idle: boolean) => Promise<void>) | undefined;
}

/**
 * The pauses of one workflow of a run: opens them, waits for answers, and reports when the workflow only waits for
 * people.
 */
export class Pauses {
  readonly #deps: PausesDeps;
  readonly #waiting = new Map<string, (resolution: PauseResolution) => void>();
  #openings: Array<{ readonly opening: PauseOpening; readonly written: () => void }> = [];
  #ended = 0;
  #watching = false;
  #closed = false;
  /** The count of changes at which PAUSED was written or reported to the parent; undefined once the run has gone on. */
  #pausedAt: number | undefined;
  #reportedAt: number | undefined;

  constructor(deps: PausesDeps) {
    this.#deps = deps;
  }

  /** Ids of the pauses without an answer. */
  get open(): string[] {
    return [...this.#waiting.keys()];
  }

  /** Opens a pause and waits for its answer; null if `expiresInMs` ended first. */
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

  /** Takes an answer. A second answer, or one for a pause that is gone, changes nothing. */
  answer(pauseId: string, resolution: PauseResolution): void {
    this.#waiting.get(pauseId)?.(resolution);
  }

  /** From now on, reports when this workflow or a child only waits for people. */
  watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    void CancellationScope.nonCancellable(() => this.#watch());
  }

  close(): void {
    this.#closed = true;
  }

  /** Records that the run has gone on if the record still says PAUSED: a paused run cannot complete. */
  writeResumed(): Promise<unknown> | undefined {
    if (this.#pausedAt === undefined) return undefined;
    this.#pausedAt = undefined;
    return this.#deps.record.write({ state: "RESUMED" });
  }

  async #watch(): Promise<void> {
    const { cancellation, record, notifyParent, writesState } = this.#deps;
    for (;;) {
      // When idle: pauses that open together are written together, so that a reader of a paused run sees all of them.
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
      // An answer has recorded this already. Other ends of a pause have not: a time limit, or the end of a sub-flow's
      // run.
      if (!idle) await this.writeResumed();
      // The child's result reports the end to its parent.
      if (this.#closed) return;
      if (notifyParent && (idle ? this.#reportedAt !== changes : this.#reportedAt !== undefined)) {
        this.#reportedAt = idle ? changes : undefined;
        await notifyParent(idle);
      }
    }
  }

  /** Whether the workflow only waits for people. */
  get #idle(): boolean {
    const { work } = this.#deps;
    return work.pending === 0 && (this.#waiting.size > 0 || work.anyChildIdle);
  }

  /** A count that grows with every start of work and every end of a pause. */
  get #changes(): number {
    return this.#deps.work.changes + this.#ended;
  }

  #isNews(idle: boolean): boolean {
    const { notifyParent, writesState } = this.#deps;
    if (!idle) return this.#pausedAt !== undefined || this.#reportedAt !== undefined;
    return (writesState && this.#pausedAt !== this.#changes) || (!!notifyParent && this.#reportedAt !== this.#changes);
  }
}

/** A promise that also rejects when the current scope is cancelled. */
function cancellable<T>(promise: Promise<T>): Promise<T> {
  const scope = CancellationScope.current();
  return Promise.race([promise, scope.cancelRequested]);
}
