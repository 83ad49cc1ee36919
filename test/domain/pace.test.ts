import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createPace } from "../../src/domain/pace.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => vi.useRealTimers());

/** The rest after each of these reads of A (ms), one after another without a rest. */
function restsOf(pace: ReturnType<typeof createPace>, ...tookMs: readonly number[]): number[] {
  return tookMs.map((ms) => {
    vi.advanceTimersByTime(ms);
    return pace.restAfter("A", ms);
  });
}

describe("read-flood: while another organisation uses the process, reads", () => {
  it("take a quarter of the time once the first second is used up", () => {
    const pace = createPace();
    for (const key of ["B", "A"]) pace.used(key);
    expect(restsOf(pace, 900, 400, 200)).toEqual([0, 0, 500]);
    vi.advanceTimersByTime(500);
    expect(restsOf(pace, 10, 10)).toEqual([30, 60]);
    expect(pace.restAfter("B", 0)).toBe(0);
  });

  it("rest for at most two seconds, however long one of them took", () => {
    const pace = createPace();
    for (const key of ["B", "A"]) pace.used(key);
    expect(restsOf(pace, 9000, 9000)).toEqual([2000, 2000]);
  });

  it("rest as long as a job allows, so that many jobs together stay within the pace", () => {
    const pace = createPace();
    for (const key of ["B", "A"]) pace.used(key);
    // Steps of as many jobs at the same time; each rests on its own.
    vi.advanceTimersByTime(1000);
    expect([1, 2, 3, 4].map(() => pace.restAfter("A", 1000, 60_000))).toEqual([0, 3000, 7000, 11_000]);
    expect(pace.restAfter("A", 100_000, 60_000)).toBe(60_000);
  });

  it("take all the time if the other organisation has not used the process for a minute", () => {
    const pace = createPace();
    for (const key of ["B", "A"]) pace.used(key);
    vi.advanceTimersByTime(58_000);
    pace.used("A");
    expect(restsOf(pace, 1900)).toEqual([1700]);
    vi.advanceTimersByTime(2000);
    pace.used("A");
    expect(restsOf(pace, 9000)).toEqual([0]);
    pace.used("B");
    expect(restsOf(pace, 1900)).toEqual([1700]);
  });
});
