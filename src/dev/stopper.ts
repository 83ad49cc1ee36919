import { setTimeout as delay } from "node:timers/promises";

/** Stages of a stop, in this order: api and worker before the servers they need, the lock last. */
const STAGES = ["services", "servers", "lock"] as const;
export type Stage = (typeof STAGES)[number];

/** Undoes the steps of a start, only once: on a signal, or if the start fails. */
export interface Stopper {
  /** Registers a function that undoes a step. */
  add(stage: Stage, undo: () => Promise<void> | void): void;
  /** Registers a running step: a stop waits for it, so that it starts nothing after the stop. */
  starting<T>(step: Promise<T>): Promise<T>;
  stop(reason: string): Promise<void>;
  stopping(): boolean;
  /** Resolves when everything has been undone. */
  readonly stopped: Promise<void>;
}

/** How long a stop waits for running steps. */
const STARTING_MS = 5000;

/** Under npm one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const SAME_SIGNAL_MS = 500;

/** Creates a stopper that SIGINT, SIGTERM and SIGHUP trigger. A second signal calls `force` and exits immediately. */
export function createStopper(say: (line: string) => void, force: () => void): Stopper {
  const undos: { stage: Stage; undo: () => Promise<void> | void }[] = [];
  const underWay = new Set<Promise<unknown>>();
  let running: Promise<void> | undefined;
  let done = (): void => undefined;
  const stopped = new Promise<void>((resolve) => (done = resolve));

  async function undoAll(reason: string): Promise<void> {
    const since = Date.now();
    say(`\nStopping (${reason}) ...`);
    await Promise.race([Promise.allSettled(underWay), delay(STARTING_MS, undefined, { ref: false })]);
    for (const stage of STAGES) {
      const results = await Promise.allSettled(
        undos.filter((each) => each.stage === stage).map(async ({ undo }) => undo()),
      );
      for (const result of results)
        if (result.status === "rejected") say(`A part did not stop: ${String(result.reason)}`);
    }
    say(`Stopped after ${((Date.now() - since) / 1000).toFixed(1)} s.`);
    done();
  }

  const stopper: Stopper = {
    add: (stage, undo) => void undos.push({ stage, undo }),
    async starting(step) {
      underWay.add(step);
      try {
        return await step;
      } finally {
        underWay.delete(step);
      }
    },
    stop: (reason) => (running ??= undoAll(reason)),
    stopping: () => running !== undefined,
    stopped,
  };
  let firstSignal = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (running !== undefined) {
        if (Date.now() - firstSignal < SAME_SIGNAL_MS) return;
        force();
        process.exit(130);
      }
      firstSignal = Date.now();
      // Steps that are still running now (a download, a compiler) are killed with the process.
      void stopper.stop(signal).then(() => process.exit(0));
    });
  }
  if (process.env["npm_lifecycle_event"] !== undefined) stopWithParent(stopper);
  return stopper;
}

/** npm runs this process through a shell that forwards no signals, so only the exit of the shell shows that npm was stopped. */
function stopWithParent(stopper: Stopper): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    void stopper.stop("npm ended").then(() => process.exit(0));
  }, 300);
  timer.unref();
}
