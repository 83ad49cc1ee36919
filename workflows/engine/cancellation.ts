import { CancellationScope } from "@temporalio/workflow";

/** How a run is stopped before its end: by a cancellation, or by its time limit. Whichever comes first counts. */
export class Cancellation {
  readonly #parent = CancellationScope.current();
  #scope: CancellationScope | undefined;
  #stopped: "cancelled" | "timed out" | undefined;
  #reason: string | null = null;

  /** The scope of everything that takes time; cancelling it stops the run. Created when first needed. */
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

  /** Whether nothing new may start in the run. */
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
