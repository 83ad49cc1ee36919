import { setTimeout as delay } from "node:timers/promises";

/** Longest rest between two starts (ms). */
const MAX_REST_MS = 100;

/**
 * Starts a run that nobody waits for, and rests as long as that took: a long queue of them leaves half of the process
 * to others.
 */
export async function withRest(start: () => Promise<unknown>): Promise<void> {
  const since = performance.now();
  await start();
  await delay(Math.min(MAX_REST_MS, performance.now() - since));
}
