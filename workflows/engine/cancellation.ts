import { CancellationScope } from "@temporalio/workflow";

/** Stops a run before its end, by a cancellation or by its time limit; whichever comes first counts. */
export class Cancellation {
  readonly #parent = CancellationScope.current();
  #scope: CancellationScope | undefined;
  #stopped: "cancelled" | "timed out" | undefined;
  #reason: string | null = null;

  /** The scope of all asynchronous work; cancelling it stops the run. Created when first needed. */
  get scope(): CancellationScope {
    if (!this.#scope) {
      this.#scope = new CancellationScope({ cancellable: true, parent: this.#parent });
      if (this.stopped) this.#scope.cancel();
    }
    return this.#scope;
  }

  cancel(reason: string | null): void {
    if (this.#stopped) return;
    this.#stopped = "cancelled";
    this.#reason = reason;
    this.#scope?.cancel();
  }

  timeOut(): void {
    if (this.#stopped) return;
    this.#stopped = "timed out";
    this.#scope?.cancel();
  }

  /** Whether the run must not start anything new. */
  get stopped(): boolean {
    return this.#stopped !== undefined;
  }

  get cancelled(): boolean {
    return this.#stopped === "cancelled";
  }

  get timedOut(): boolean {
    return this.#stopped === "timed out";
  }

  /** The reason that the canceller gave. */
  get reason(): string | null {
    return this.#reason;
  }
}
