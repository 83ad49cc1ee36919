import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createBackgroundStarts } from "../../../../src/services/runs/background-starts.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => vi.useRealTimers());

/** The rest after each of these starts (ms), which are made at once and take so long. */
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

it("rests three times as long as a start took, and no longer than 300 ms", async () => {
  expect(await restsOf(40)).toEqual([120]);
  expect(await restsOf(600)).toEqual([300]);
});

it("rests longer while others start runs, so that three quarters of the time are left", async () => {
  // Each takes 20 ms: both end when the clock has moved twice.
  expect(await restsOf(10, 10)).toEqual([140, 140]);
});

it("rests a second at most, however many start runs", async () => {
  expect(await restsOf(...Array.from({ length: 20 }, () => 100))).toEqual(Array.from({ length: 20 }, () => 1000));
});

it("rests no longer than alone once the other starts have ended or failed", async () => {
  const rests: number[] = [];
  const startInBackground = createBackgroundStarts(async (ms) => void rests.push(ms));
  await expect(startInBackground(() => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
  for (let count = 0; count < 2; count += 1) await startInBackground(async () => vi.advanceTimersByTime(40));
  expect(rests).toEqual([120, 120]);
});
