import { CancellationScope } from "@temporalio/workflow";

/** The two ways to stop a run before its end: a cancellation or its time limit. The first one counts. */
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

  /** The reason for the cancellation, in its author's words. */
  get reason(): string | null {
    return this.#reason;
  }
}
