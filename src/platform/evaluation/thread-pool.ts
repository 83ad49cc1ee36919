import { MessageChannel } from "node:worker_threads";
import { Piscina } from "piscina";

/** How a pool runs its threads, and what each call may use. */
export interface ThreadPoolOptions {
  /** Path of the compiled entry; each of its exports is a function that takes a ThreadTask. */
  readonly entry: string;
  readonly threads: number;
  /** JavaScript heap of a thread, MiB. */
  readonly heapMib: number;
  /** Calls of one key that may wait, and calls in all. */
  readonly maxWaitingPerKey: number;
  readonly maxWaiting: number;
  /** Longest wait for a thread (ms). */
  readonly maxWaitMs: number;
}

/** One call of a function of the entry. */
export interface ThreadCall {
  readonly name: string;
  readonly input: unknown;
  /** The organisation of the call: waiting keys are served round-robin. */
  readonly key: string;
  /** Longest execution time (ms); then the thread is terminated. */
  readonly timeoutMs: number;
}

/** What a function of the entry is called with; it posts any message to `started` first, which starts its time. */
export interface ThreadTask {
  readonly input: unknown;
  readonly started: { postMessage(message: unknown): void };
}

/** Why a call has no result. After `busy` and `closed` another attempt may have one. */
export type ThreadFailure = "timeout" | "memory" | "busy" | "closed";

/** Thrown when a call was not answered by its function. */
export class ThreadPoolError extends Error {
  readonly failure: ThreadFailure;

  constructor(failure: ThreadFailure, message: string) {
    super(message);
    this.name = "ThreadPoolError";
    this.failure = failure;
  }
}

/** Threads for work whose cost a caller decides. */
export interface ThreadPool {
  /** Resolves to what the function returns; throws ThreadPoolError, or what the function throws. */
  call(call: ThreadCall): Promise<unknown>;
  /** Terminates all threads; running and waiting calls reject with `closed`. */
  close(): Promise<void>;
}

/** Longest start of a thread (ms), in which it loads its modules. */
const MAX_START_MS = 60_000;

interface Waiting {
  readonly key: string;
  resolve(): void;
  reject(error: ThreadPoolError): void;
}

/** A pool of threads, each with a heap of its own; `close` must be called. */
export function createThreadPool(options: ThreadPoolOptions): ThreadPool {
  const { entry, threads, heapMib } = options;
  const pool = new Piscina({
    filename: entry,
    minThreads: threads,
    maxThreads: threads,
    // The order is decided here: piscina never gets more tasks than it has threads.
    maxQueue: threads,
    resourceLimits: { maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    // Requests and heartbeats come first where processors are few.
    niceIncrement: 5,
    env: {},
    execArgv: [],
  });
  // A thread that exits is replaced; its task, if it had one, has been rejected.
  pool.on("error", () => undefined);
  let running = 0;
  let closed = false;
  const waiting: Waiting[] = [];
  const runningOf = new Map<string, number>();

  const count = (key: string, change: 1 | -1): void => {
    running += change;
    const now = (runningOf.get(key) ?? 0) + change;
    if (now === 0) runningOf.delete(key);
    else runningOf.set(key, now);
  };

  /** Serves the key that has the fewest threads; of several, the one that has waited longest. */
  const serveNext = (): void => {
    if (running >= threads || waiting.length === 0) return;
    let next = 0;
    const load = (at: number): number => runningOf.get(waiting[at]?.key ?? "") ?? 0;
    for (let at = 1; at < waiting.length && load(next) > 0; at += 1) if (load(at) < load(next)) next = at;
    const [chosen] = waiting.splice(next, 1);
    if (!chosen) return;
    count(chosen.key, 1);
    chosen.resolve();
  };

  const acquire = async (key: string): Promise<void> => {
    const ofKey = waiting.filter((each) => each.key === key).length;
    if (ofKey >= options.maxWaitingPerKey || waiting.length >= options.maxWaiting) {
      throw new ThreadPoolError("busy", "Too many evaluations wait already.");
    }
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const entrant = { key, resolve, reject };
        waiting.push(entrant);
        timer = setTimeout(() => {
          const at = waiting.indexOf(entrant);
          if (at === -1) return;
          waiting.splice(at, 1);
          reject(new ThreadPoolError("busy", "No thread was free in time for the evaluation."));
        }, options.maxWaitMs);
        serveNext();
      });
    } finally {
      clearTimeout(timer);
    }
  };

  const run = async ({ name, input, timeoutMs }: ThreadCall): Promise<unknown> => {
    const stop = new AbortController();
    const { port1: onStart, port2: started } = new MessageChannel();
    let timer = setTimeout(() => stop.abort(), MAX_START_MS);
    onStart.once("message", () => {
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), timeoutMs);
    });
    try {
      return await pool.run({ input, started } satisfies ThreadTask, {
        name,
        transferList: [started],
        signal: stop.signal,
      });
    } catch (error) {
      if (closed) throw new ThreadPoolError("closed", "The pool is closed.");
      if (stop.signal.aborted) throw new ThreadPoolError("timeout", `It took longer than ${timeoutMs} ms.`);
      if (isOutOfMemory(error)) throw new ThreadPoolError("memory", `It needed more than ${heapMib} MiB of memory.`);
      throw error;
    } finally {
      clearTimeout(timer);
      onStart.close();
    }
  };

  return {
    async call(call) {
      if (closed) throw new ThreadPoolError("closed", "The pool is closed.");
      await acquire(call.key);
      try {
        return await run(call);
      } finally {
        count(call.key, -1);
        serveNext();
      }
    },

    async close() {
      closed = true;
      for (const { reject } of waiting.splice(0)) reject(new ThreadPoolError("closed", "The pool is closed."));
      await pool.destroy();
    },
  };
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}
