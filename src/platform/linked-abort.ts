/** A signal that aborts on demand, and with other signals. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  /** To be called when the work is done. */
  end(): void;
}

/**
 * Aborts with the first of the signals. Written out, since AbortSignal.any holds its sources weakly on Node 20: a timeout that
 * nobody else holds is collected with the next garbage, and never comes.
 */
export function linkAbort(signals: readonly AbortSignal[]): LinkedAbort {
  const controller = new AbortController();
  const ended = new AbortController();
  for (const each of signals) {
    const stop = (): void => controller.abort(each.reason);
    if (each.aborted) stop();
    else each.addEventListener("abort", stop, { once: true, signal: ended.signal });
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    end: () => ended.abort(),
  };
}

/** Aborts with the first of the signals, or after so long (ms) with a TimeoutError. */
export function limitedSignal(signals: readonly AbortSignal[], ms: number): LinkedAbort {
  const linked = linkAbort(signals);
  const late = (): void => linked.abort(new DOMException("It took too long.", "TimeoutError"));
  const timer = setTimeout(late, ms);
  return {
    ...linked,
    end() {
      clearTimeout(timer);
      linked.end();
    },
  };
}
