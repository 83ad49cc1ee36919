import { setTimeout as delay } from "node:timers/promises";

/** Of a process's time, the share in which it starts such runs. Measured by bench/neighbours-main.ts. */
const SHARE = 1 / 4;
/** The longest time of a start that counts (ms): a slow one mostly waits for others. */
const MAX_START_MS = 100;
/** The longest rest (ms), since a process that stops waits for it. */
const MAX_REST_MS = 1000;

/** Makes one start of a run that nobody waits for, and resolves after the rest. */
export type StartInBackground = (start: () => Promise<unknown>) => Promise<void>;

/**
 * Leaves a process to those who wait, however many runs are started in the background: after each start it rests, and
 * longer while others start runs in the same process.
 */
export function createBackgroundStarts(rest: (ms: number) => Promise<void> = delay): StartInBackground {
  let starters = 0;
  return async (start) => {
    starters += 1;
    try {
      const since = performance.now();
      await start();
      const tookMs = Math.min(MAX_START_MS, performance.now() - since);
      await rest(Math.min(MAX_REST_MS, tookMs * (starters / SHARE - 1)));
    } finally {
      starters -= 1;
    }
  };
}
