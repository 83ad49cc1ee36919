import { createShares, type Asked } from "../../domain/shares.ts";
import { whileWaiting } from "../time-limit.ts";
import type { Frame } from "./frames.ts";
import { ChildPoolError } from "./pool-failure.ts";
import { ChildEnded, measureIdleMib, spawnChild, type Child, type ChildOptions, type ChildRequest } from "./spawn.ts";

/** How a pool runs its children; ChildOptions limits one child. */
export interface ChildPoolOptions extends Omit<ChildOptions, "cpuSeconds" | "idleMib"> {
  /** Calls of one key that run at the same time while no other key has calls; several keys together get up to twice as many. */
  readonly size: number;
  /** Unused children kept ready while there are calls, so that the next call need not wait for a start (~60-200 ms). */
  readonly spares: number;
  /** How long idle children wait for another call (ms). Default a minute. */
  readonly keepIdleMs?: number;
  /** Idle children kept for the next call of the same key (~50-100 MB each). */
  readonly keep: number;
  /** Whether a child may serve several keys one after the other, because it executes no code of theirs. Default false. */
  readonly shared?: boolean;
  /** Calls that may wait for a child, in total and per lane of a key (default: as many). */
  readonly maxQueue: number;
  readonly maxQueuePerKey?: number;
  /** Longest wait for a child (ms); default without limit. */
  readonly maxWaitMs?: number;
  /** Calls after which a child is replaced. */
  readonly maxCalls: number;
  /** Longest time of a call after a child was assigned to it; then SIGKILL. */
  readonly timeoutMs: number;
  /** Calls with a time limit above this (ms) do not get the last free children; default none. */
  readonly longFromMs?: number;
}

/** One call of a child. */
export interface PoolCall {
  /** The organisation of the call: children are divided among keys, and a child that is not `shared` serves one key only. */
  readonly key: string;
  /** The type of work. For each key, every type has its own queue, and types are served round robin. */
  readonly lane?: string;
  /** Builds the request once a child is assigned. */
  readonly request: () => ChildRequest | Promise<ChildRequest>;
  /** Time limit of the call, capped by the pool's own limit, which is the default. */
  readonly timeoutMs?: number;
  /** Removes the call from the queue, or kills the child that runs it; the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Disposable child processes that execute hostile work. */
export interface ChildPool {
  /** Throws ChildPoolError, or the reason of the call's signal. */
  call(call: PoolCall): Promise<Frame>;
  /** Starts the spare children and waits until they are ready. Otherwise the first call starts them. */
  warm(): Promise<void>;
  /** Process ids of all children and of busy ones, and how many calls wait. */
  stats(): { readonly pids: readonly number[]; readonly busy: readonly number[]; readonly waiting: number };
  /** Kills every child; running calls reject with `closed`. */
  close(): Promise<void>;
}

interface Worker {
  readonly child: Child;
  /** Resolves whether or not the child became ready. */
  readonly started: Promise<void>;
  state: "starting" | "idle" | "busy";
  /** `null` until the child has worked for a key. */
  key: string | null;
  lane: string | undefined;
  calls: number;
  busyMs: number;
  expiry?: NodeJS.Timeout;
}

interface Task {
  readonly call: PoolCall;
  /** Starts the call's time limit. */
  begin(): void;
  resolve(frame: Frame): void;
  reject(error: unknown): void;
}

const MAX_START_FAILURES = 3;
const START_TIMEOUT_MS = 30_000;
/** Children and spares exit after this time without use, so that an unused pool has no processes (ms). */
const KEEP_IDLE_MS = 60_000;

/** A pool of children; creating one blocks for ~50 ms. `close` must be called, because its children keep the process running. */
export function createChildPool(options: ChildPoolOptions): ChildPool {
  // A child is replaced once its calls have used one time limit in total, so that no call reaches the processor limit.
  const cpuSeconds = 10 + (2 * options.timeoutMs) / 1000;
  const idleMib = measureIdleMib();
  const workers = new Set<Worker>();
  const queue: Task[] = [];
  const shares = createShares(2 * options.size);
  const keepIdleMs = options.keepIdleMs ?? KEEP_IDLE_MS;
  let startFailures = 0;
  let closed = false;
  /** Timer that runs while spares are kept. */
  let unused: NodeJS.Timeout | undefined;

  const count = (test: (worker: Worker) => boolean): number => [...workers].filter(test).length;
  const askedBy = ({ timeoutMs = options.timeoutMs }: PoolCall): Asked => ({
    long: timeoutMs > (options.longFromMs ?? Infinity),
  });
  const mayServe = (worker: Worker, key: string | null): boolean =>
    options.shared === true || worker.key === null || worker.key === key;

  const retire = (worker: Worker): void => {
    workers.delete(worker);
    clearTimeout(worker.expiry);
    worker.child.kill();
  };

  /** Called for each call: spares are kept until there has been no call for a while. */
  const keepSpares = (): void => {
    clearTimeout(unused);
    unused = setTimeout(dropSpares, keepIdleMs).unref();
  };

  const dropSpares = (): void => {
    // A child that is still starting cannot be retired, because that would count as a failed start.
    if (queue.length > 0 || count(({ state }) => state !== "idle") > 0) return keepSpares();
    unused = undefined;
    for (const worker of [...workers].filter(({ key }) => key === null)) retire(worker);
  };

  /**
   * Makes a child idle for the next call of the same key after its calls, and closes the surplus children that have been idle for longest.
   */
  const keepIdle = (worker: Worker): void => {
    worker.state = "idle";
    worker.expiry = setTimeout(() => retire(worker), keepIdleMs).unref();
    // Sets keep the order of insertion: the first is the one used least recently.
    workers.delete(worker);
    workers.add(worker);
    dispatch();
    const idle = [...workers].filter(({ state, key }) => state === "idle" && key !== null);
    for (const surplus of idle.slice(0, Math.max(0, idle.length - options.keep))) retire(surplus);
  };

  const start = (): void => {
    const child = spawnChild({ ...options, cpuSeconds, idleMib });
    const timer = setTimeout(() => child.kill(), START_TIMEOUT_MS);
    const started = child.ready
      .then(
        () => {
          startFailures = 0;
          worker.state = "idle";
        },
        (error: unknown) => {
          workers.delete(worker);
          startFailed(error);
        },
      )
      .finally(() => clearTimeout(timer))
      .then(dispatch);
    const worker: Worker = { child, started, state: "starting", key: null, lane: undefined, calls: 0, busyMs: 0 };
    workers.add(worker);
    void child.exited.then(() => {
      // A child killed from outside while idle; the next dispatch starts another.
      if (workers.delete(worker) && !closed && worker.state === "idle") dispatch();
    });
  };

  const startFailed = (error: unknown): void => {
    startFailures += 1;
    if (startFailures < MAX_START_FAILURES || closed) return;
    const reason = error instanceof Error ? error.message : String(error);
    for (const task of queue.splice(0)) {
      task.reject(new ChildPoolError("start_failed", `Could not start a child process. ${reason}`));
    }
  };

  const run = async (worker: Worker, task: Task, release: () => void): Promise<void> => {
    const { call } = task;
    task.begin();
    const limit = Math.min(call.timeoutMs ?? options.timeoutMs, options.timeoutMs);
    let stopped: { readonly reason: unknown } | undefined;
    const stop = (reason: unknown): void => {
      stopped ??= { reason };
      worker.child.kill();
    };
    const onAbort = (): void => stop(call.signal?.reason);
    const timer = setTimeout(() => stop(new ChildPoolError("timeout", `It took longer than ${limit} ms.`)), limit);
    const began = performance.now();
    let worn = false;
    clearTimeout(worker.expiry);
    worker.state = "busy";
    worker.key = call.key;
    worker.lane = call.lane;
    worker.calls += 1;
    call.signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const reply = await worker.child.request(await call.request());
      worn = reply.header["worn"] === true;
      task.resolve(reply);
    } catch (error) {
      if (stopped !== undefined) task.reject(stopped.reason);
      else if (closed) task.reject(new ChildPoolError("closed", "The pool is closed."));
      else task.reject(error instanceof ChildEnded ? new ChildPoolError(error.end, error.message) : error);
    } finally {
      clearTimeout(timer);
      release();
      call.signal?.removeEventListener("abort", onAbort);
      worker.busyMs += performance.now() - began;
      worn ||= worker.calls >= options.maxCalls || worker.busyMs >= options.timeoutMs;
      if (worn || stopped !== undefined || !worker.child.isAlive()) {
        retire(worker);
        dispatch();
      } else {
        keepIdle(worker);
      }
    }
  };

  /** The next call and its child: of the keys with free slots, the one with the fewest running calls, and of its lanes likewise. */
  const findWork = (): { task: Task; worker: Worker } | undefined => {
    const idle = [...workers].filter((worker) => worker.state === "idle" && worker.child.isAlive());
    let best: { task: Task; worker: Worker; inUse: number; inLane: number } | undefined;
    for (const task of idle.length === 0 ? [] : queue) {
      const { key, lane } = task.call;
      if (shares.free(key, askedBy(task.call)) === 0) continue;
      const inUse = shares.inUse(key);
      const inLane = count((worker) => worker.state === "busy" && worker.key === key && worker.lane === lane);
      if (best && (inUse > best.inUse || (inUse === best.inUse && inLane >= best.inLane))) continue;
      const worker =
        idle.findLast((candidate) => candidate.key === key) ?? idle.findLast((candidate) => mayServe(candidate, key));
      if (worker !== undefined) best = { task, worker, inUse, inLane };
      if (best?.inUse === 0) break;
    }
    return best;
  };

  /** How many of the waiting calls can be executed now. */
  const executable = (): number => {
    const waiting = new Map<string, { calls: number; free: number }>();
    for (const { call } of queue) {
      const { calls, free } = waiting.get(call.key) ?? { calls: 0, free: 0 };
      waiting.set(call.key, { calls: calls + 1, free: Math.max(free, shares.free(call.key, askedBy(call))) });
    }
    const all = [...waiting.values()].reduce((sum, { calls, free }) => sum + Math.min(calls, free), 0);
    return Math.min(all, 2 * options.size - shares.inUse());
  };

  /** Assigns children to waiting calls, then starts as many as the rest (and the spares) need. */
  const dispatch = (): void => {
    if (closed) return;
    for (let work = findWork(); work !== undefined; work = findWork()) {
      const release = shares.take(work.task.call.key, askedBy(work.task.call));
      if (release === null) break;
      queue.splice(queue.indexOf(work.task), 1);
      void run(work.worker, work.task, release);
    }
    // After failures only calls trigger new starts, or a broken installation would start processes endlessly.
    const spares = startFailures > 0 || unused === undefined ? 0 : options.spares;
    const wanted = Math.max(spares, executable());
    const available = count((worker) => worker.state !== "busy" && mayServe(worker, null));
    for (let ready = available; ready < wanted; ready += 1) start();
  };

  return {
    async call(call) {
      if (closed) throw new ChildPoolError("closed", "The pool is closed.");
      call.signal?.throwIfAborted();
      const { maxQueue, maxQueuePerKey = maxQueue, maxWaitMs } = options;
      const ofKey = queue.filter(({ call: { key, lane } }) => key === call.key && lane === call.lane).length;
      if (queue.length >= maxQueue || ofKey >= maxQueuePerKey) {
        throw new ChildPoolError("queue_full", "Too many calls are waiting already.");
      }
      const leave = new AbortController();
      const begin = whileWaiting();
      let timer: NodeJS.Timeout | undefined;
      try {
        return await new Promise<Frame>((resolve, reject) => {
          const task: Task = { call, begin, resolve, reject };
          const leaveQueue = (reason: unknown): void => {
            const index = queue.indexOf(task);
            if (index === -1) return;
            queue.splice(index, 1);
            reject(reason);
          };
          const onAbort = (): void => leaveQueue(call.signal?.reason);
          const onLate = (): void => leaveQueue(new ChildPoolError("queue_full", "No process became free in time."));
          call.signal?.addEventListener("abort", onAbort, { once: true, signal: leave.signal });
          if (maxWaitMs !== undefined) timer = setTimeout(onLate, maxWaitMs);
          queue.push(task);
          keepSpares();
          dispatch();
        });
      } finally {
        leave.abort();
        clearTimeout(timer);
        begin();
      }
    },

    async warm() {
      keepSpares();
      dispatch();
      await Promise.all([...workers].map((worker) => worker.started));
    },

    stats() {
      const pidsOf = (list: Worker[]): number[] => list.flatMap(({ child }) => child.pid ?? []);
      const busy = [...workers].filter(({ state }) => state === "busy");
      return { pids: pidsOf([...workers]), busy: pidsOf(busy), waiting: queue.length };
    },

    async close() {
      closed = true;
      clearTimeout(unused);
      const error = new ChildPoolError("closed", "The pool is closed.");
      for (const task of queue.splice(0)) task.reject(error);
      const children = [...workers].map((worker) => worker.child);
      for (const child of children) child.kill();
      await Promise.all(children.map((child) => child.exited));
    },
  };
}
