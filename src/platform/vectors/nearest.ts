import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { compiledEntry } from "../children/entry.ts";

/** What a thread is sent; the vectors are in shared memory and not copied. */
export interface NearestRequest {
  readonly id: number;
  /** Numbers of 32 bits, vector after vector. */
  readonly memory: SharedArrayBuffer;
  readonly dimensions: number;
  readonly count: number;
  readonly query: Float32Array;
  /** The vectors to compare; null: the first `count`. */
  readonly slots: Int32Array | null;
  readonly limit: number;
}

export interface NearestReply {
  readonly id: number;
  readonly slots: readonly number[];
  readonly scores: readonly number[];
}

/** Compares a vector with many, in threads beside the event loop: 10 000 of 384 dimensions in about 4 ms. */
export interface NearestSearch {
  /** The best dot products, best first. */
  search(request: Omit<NearestRequest, "id">): Promise<Pick<NearestReply, "slots" | "scores">>;
  close(): Promise<void>;
}

interface Thread {
  readonly worker: Worker;
  readonly waiting: Map<number, { resolve(reply: NearestReply): void; reject(error: unknown): void }>;
}

const MAX_THREADS = 4;
const ENTRY = new URL("./thread.ts", import.meta.url);

/** Starts threads as they are needed. `close` must be called. */
export function createNearestSearch(
  size: number = Math.min(MAX_THREADS, Math.max(1, availableParallelism() - 1)),
): NearestSearch {
  const threads: Thread[] = [];
  let nextId = 0;

  const start = (): Thread => {
    const worker = new Worker(compiledEntry(ENTRY), { execArgv: [], env: {} });
    // It must not keep a process running that is done.
    worker.unref();
    const thread: Thread = { worker, waiting: new Map() };
    const drop = (error: Error): void => {
      const index = threads.indexOf(thread);
      if (index !== -1) threads.splice(index, 1);
      for (const { reject } of thread.waiting.values()) reject(error);
      thread.waiting.clear();
    };
    worker.on("message", (reply: NearestReply) => {
      thread.waiting.get(reply.id)?.resolve(reply);
      thread.waiting.delete(reply.id);
      if (thread.waiting.size === 0) worker.unref();
    });
    worker.on("error", drop);
    worker.on("exit", () => drop(new Error("The thread that compares vectors has ended.")));
    threads.push(thread);
    return thread;
  };

  return {
    async search(request) {
      const idle = threads.find((thread) => thread.waiting.size === 0);
      const least = threads.toSorted((a, b) => a.waiting.size - b.waiting.size)[0];
      const thread = idle ?? (threads.length < size || least === undefined ? start() : least);
      nextId += 1;
      const id = nextId;
      return await new Promise<NearestReply>((resolve, reject) => {
        thread.waiting.set(id, { resolve, reject });
        thread.worker.ref();
        thread.worker.postMessage({ ...request, id } satisfies NearestRequest);
      });
    },
    async close() {
      await Promise.all(threads.map(({ worker }) => worker.terminate()));
    },
  };
}
