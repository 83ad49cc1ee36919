import { CancellationScope, isCancellation, sleep } from "@temporalio/workflow";
import type { Cancellation } from "./cancellation.ts";

/** The time limit of a run, counted from its start. */
export class Clock {
  readonly #cancellation: Cancellation;
  /** The end of the run's time limit (ms since 1970); null for a slice, because the run's own workflow watches the time. */
  readonly #endsAt: number | null;
  #timer: CancellationScope | undefined;

  constructor(cancellation: Cancellation, endsAt: number | null) {
    this.#cancellation = cancellation;
    this.#endsAt = endsAt;
  }

  /** Starts the timer once. The first asynchronous work calls this, so that a run of inline nodes needs no timer. */
  start(): void {
    if (this.#timer || this.#endsAt === null) return;
    const left = Math.max(1, this.#endsAt - Date.now());
    this.#timer = new CancellationScope({ cancellable: true, parent: this.#cancellation.scope });
    this.#timer
      .run(() => sleep(left))
      .then(() => this.#cancellation.timeOut())
      .catch((error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
