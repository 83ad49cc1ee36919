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
  /** Starts the process and resolves when it is ready. On a restart it receives the previous process. */
  readonly start: (last: P | undefined) => Promise<P>;
  readonly say: (line: string) => void;
  /** Called with each new process. */
  readonly onStart?: (part: P) => void;
  /** Wait before the first restart (ms); doubles up to `maxDelayMs`. Default 200. */
  readonly delayMs?: number;
  /** Longest wait before a restart (ms). Default 10 000. */
  readonly maxDelayMs?: number;
}

export interface Supervised<P extends Part> {
  /** The first process; restarted ones keep its addresses. */
  readonly first: P;
  /** Stops the process without a restart, also while it is being restarted. */
  stop(): Promise<void>;
}

/** A process that ran at least this long (ms) is restarted with the initial wait. */
const STABLE_MS = 30_000;

/** Starts a part and restarts it whenever it exits unexpectedly. Throws if the first start fails. */
export async function supervise<P extends Part>(options: SuperviseOptions<P>): Promise<Supervised<P>> {
  const { name, start, say, delayMs = 200, maxDelayMs = 10_000 } = options;
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
      if (Date.now() - since > STABLE_MS) wait = delayMs;
      say(`${name} (process ${current.pid}) stopped: ${cause}. Restarting it in ${wait / 1000} s.`);
      current = await again(wait);
      if (stopping.signal.aborted) return;
      say(`${name} is running again (process ${current.pid}).`);
      wait = Math.min(wait * 2, maxDelayMs);
    }
  }

  /** Retries until it starts, or until the supervisor is stopped; then returns the exited process. */
  async function again(firstWait: number): Promise<P> {
    for (let wait = firstWait; ; wait = Math.min(wait * 2, maxDelayMs)) {
      try {
        await delay(wait, undefined, { signal: stopping.signal });
        return await begin(current);
      } catch (error) {
        if (stopping.signal.aborted) return current;
        say(`${name} could not be restarted: ${error instanceof Error ? error.message : String(error)}`);
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
      // A start that was in progress when the stop began has finished by now.
      await current.stop();
    },
  };
}
