import { setTimeout as delay } from "node:timers/promises";

/** The share of a process's time in which it starts such runs. Measured by bench/neighbours-main.ts. */
const SHARE = 1 / 4;
/** Longest duration of a start that counts (ms), because a slow start mostly waits for other systems. */
const MAX_START_MS = 100;
/** Longest rest (ms), because a stopping process waits for it. */
const MAX_REST_MS = 1000;

/** Starts one run that no caller waits for, and resolves after the rest. */
export type StartInBackground = (start: () => Promise<unknown>) => Promise<void>;

/**
 * Keeps a process free for waiting callers, however many runs are started in the background: it rests after each start,
 * and longer while other loops start runs in the same process.
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
