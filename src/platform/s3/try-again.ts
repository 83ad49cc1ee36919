import { setTimeout as sleep } from "node:timers/promises";

const FIRST_WAIT_MS = 200;

/** Waits before a retry: twice as long after each attempt, with jitter so that not all processes retry at the same time. */
export async function waitAfter(attempt: number): Promise<void> {
  await sleep(FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + Math.random()));
}
