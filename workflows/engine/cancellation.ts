import { CancellationScope } from "@temporalio/workflow";

/** How a run is stopped before its end: by a cancellation, or by its time limit. Whichever comes first counts. */
export class Cancellation {
  /** Everything the run does happens in here; cancelling it stops the run. */
  readonly scope = new CancellationScope();
  #stopped: "cancelled" | "timed out" | undefined;
  #reason: string | null = null;

  cancel(reason: string | null): void {
    if (this.#stopped) return;
    this.#stopped = "cancelled";
    this.#reason = reason;
    this.scope.cancel();
  }

  timeOut(): void {
    if (this.#stopped) return;
    this.#stopped = "timed out";
    this.scope.cancel();
  }

  /** Whether the run is to start nothing any more. */
  get stopped(): boolean {
    return this.#stopped !== undefined;
  }

  get cancelled(): boolean {
    return this.#stopped === "cancelled";
  }

  get timedOut(): boolean {
    return this.#stopped === "timed out";
  }

  /** Why it was cancelled, in the words of whoever did it. */
  get reason(): string | null {
    return this.#reason;
  }
}
