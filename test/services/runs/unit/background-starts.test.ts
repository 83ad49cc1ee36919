import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createBackgroundStarts } from "../../../../src/services/runs/background-starts.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => vi.useRealTimers());

/** The rest after each of these starts, which begin at the same time and take this long (ms). */
async function restsOf(...durations: readonly number[]): Promise<number[]> {
  const rests: number[] = [];
  const startInBackground = createBackgroundStarts(async (ms) => void rests.push(ms));
  let release = (): void => undefined;
  const allInProgress = new Promise<void>((resolve) => (release = resolve));
  const starts = durations.map((ms) =>
    startInBackground(async () => {
      await allInProgress;
      vi.advanceTimersByTime(ms);
    }),
  );
  release();
  await Promise.all(starts);
  return rests;
}

it("a background start is followed by a rest of three times its duration, at most 300 ms", async () => {
  expect(await restsOf(40)).toEqual([120]);
  expect(await restsOf(600)).toEqual([300]);
});

it("the rest is longer while others start runs, so that three quarters of the time are left", async () => {
  // Each takes 20 ms, so both end after the second step of the clock.
  expect(await restsOf(10, 10)).toEqual([140, 140]);
});

it("the rest is at most a second, however many runs are being started", async () => {
  expect(await restsOf(...Array.from({ length: 20 }, () => 100))).toEqual(Array.from({ length: 20 }, () => 1000));
});

it("the rest is as short as for a single start once other starts have finished or failed", async () => {
  const rests: number[] = [];
  const startInBackground = createBackgroundStarts(async (ms) => void rests.push(ms));
  await expect(startInBackground(() => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
  for (let count = 0; count < 2; count += 1) await startInBackground(async () => vi.advanceTimersByTime(40));
  expect(rests).toEqual([120, 120]);
});
