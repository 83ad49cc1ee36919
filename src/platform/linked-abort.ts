/** A signal that aborts on demand, and with other signals. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  /** Call it when the work is finished. */
  end(): void;
}

/**
 * Aborts with the first of the signals. AbortSignal.any is not used, because on Node 20 it holds its sources weakly: a timeout that nothing
 * else references is garbage-collected and never fires.
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

/** Aborts with the first of the signals, or after `ms` (Infinity: never) with the error of `late`. */
export function limitedSignal(
  signals: readonly AbortSignal[],
  ms: number,
  late = (): Error => new DOMException("It took too long.", "TimeoutError"),
): LinkedAbort {
  const linked = linkAbort(signals);
  const timer = ms === Infinity ? undefined : setTimeout(() => linked.abort(late()), ms);
  return {
    ...linked,
    end() {
      clearTimeout(timer);
      linked.end();
    },
  };
}

/** The result of some work, or the signal's reason if that comes first; the work itself continues. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (stop) signal.removeEventListener("abort", stop);
    work.catch(() => undefined);
  }
}
