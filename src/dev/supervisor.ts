import { setTimeout as delay } from "node:timers/promises";

/** A process as the supervisor sees it. */
export interface Part {
  readonly pid: number;
  /** Resolves with the cause when it has exited. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export interface SuperviseOptions<P extends Part> {
  /** Its name in messages. */
  readonly name: string;
  /** Starts it and resolves when it is ready. Receives the previous one on a restart. */
  readonly start: (last: P | undefined) => Promise<P>;
  readonly say: (line: string) => void;
  /** Called with each new process. */
  readonly onStart?: (part: P) => void;
  /** First wait before a restart; doubles up to `maxDelayMs`. Default 200. */
  readonly delayMs?: number;
  /** Default 10 000. */
  readonly maxDelayMs?: number;
  /** A process that ran this long is restarted with the initial delay. Default 30 000. */
  readonly stableMs?: number;
}

export interface Supervised<P extends Part> {
  /** The first process: restarted ones keep its addresses. */
  readonly first: P;
  /** Stops it without a restart; also while it is being restarted. */
  stop(): Promise<void>;
}

/** Starts a part and restarts it whenever it exits unasked. Throws when the first start fails. */
export async function supervise<P extends Part>(options: SuperviseOptions<P>): Promise<Supervised<P>> {
  const { name, start, say, delayMs = 200, maxDelayMs = 10_000, stableMs = 30_000 } = options;
  const stopping = new AbortController();
  let current: P;

  async function begin(last: P | undefined): Promise<P> {
    const part = await start(last);
    options.onStart?.(part);
    return part;
  }

  async function watch(): Promise<void> {
    let wait = delayMs;
    for (;;) {
      const since = Date.now();
      const cause = await current.ended;
      if (stopping.signal.aborted) return;
      if (Date.now() - since > stableMs) wait = delayMs;
      say(`${name} (process ${current.pid}) ended: ${cause}. Starting it again in ${wait / 1000} s.`);
      current = await again(wait);
      if (stopping.signal.aborted) return;
      say(`${name} runs again (process ${current.pid}).`);
      wait = Math.min(wait * 2, maxDelayMs);
    }
  }

  /** Retries until it starts or is stopped; then returns the exited one. */
  async function again(firstWait: number): Promise<P> {
    for (let wait = firstWait; ; wait = Math.min(wait * 2, maxDelayMs)) {
      try {
        await delay(wait, undefined, { signal: stopping.signal });
        return await begin(current);
      } catch (error) {
        if (stopping.signal.aborted) return current;
        say(`${name} did not start again: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  current = await begin(undefined);
  const first = current;
  const watching = watch();
  return {
    first,
    async stop() {
      stopping.abort();
      await current.stop();
      await watching;
      // A start that was under way at the stop has settled by now.
      await current.stop();
    },
  };
}
