/** A signal that ends with others, or when its time is up. */
export interface LimitedSignal {
  readonly signal: AbortSignal;
  /** To be called when the work is done. */
  end(): void;
}

/**
 * Aborts with the first of the signals, or after so long (ms) with a TimeoutError. Written out, since AbortSignal.any holds its
 * sources weakly on Node 20: a timeout that nobody else holds is collected with the next garbage, and never comes.
 */
export function limitedSignal(signals: readonly AbortSignal[], ms: number): LimitedSignal {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException("It took too long.", "TimeoutError")), ms);
  const ended = new AbortController();
  for (const each of signals) {
    const stop = (): void => controller.abort(each.reason);
    if (each.aborted) stop();
    else each.addEventListener("abort", stop, { once: true, signal: ended.signal });
  }
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      ended.abort();
    },
  };
}
