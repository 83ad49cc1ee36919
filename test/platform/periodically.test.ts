import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eachRoundRobin, periodically, untilDone, type Periodic } from "../../src/platform/periodically.ts";

let task: Periodic | undefined;
beforeEach(() => void vi.useFakeTimers());
afterEach(async () => {
  await task?.close();
  vi.useRealTimers();
});

/** A task whose rounds finish on command. */
function begin(intervalMs: number) {
  const settlers: Array<{ succeed: () => void; fail: () => void }> = [];
  const errors: unknown[] = [];
  const started = periodically(
    intervalMs,
    () =>
      new Promise<void>((resolve, reject) =>
        settlers.push({ succeed: resolve, fail: () => reject(new Error("unavailable")) }),
      ),
    (error) => errors.push(error),
  );
  task = started;
  return {
    task: started,
    errors,
    rounds: () => settlers.length,
    succeed: () => settlers.at(-1)?.succeed(),
    fail: () => settlers.at(-1)?.fail(),
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
  };
}

describe("a task that repeats", () => {
  it("starts after its interval, and again one interval after each end", async () => {
    const { rounds, succeed, pass } = begin(1000);
    await pass(999);
    expect(rounds()).toBe(0);
    await pass(1);
    expect(rounds()).toBe(1);
    await pass(10_000);
    expect(rounds()).toBe(1);
    succeed();
    await pass(999);
    expect(rounds()).toBe(1);
    await pass(1);
    expect(rounds()).toBe(2);
    succeed();
  });

  it("starts immediately when woken, and again if woken during a round", async () => {
    const { task: woken, rounds, succeed, pass } = begin(1000);
    woken.wake();
    await pass(0);
    expect(rounds()).toBe(1);
    woken.wake();
    woken.wake();
    await pass(0);
    expect(rounds()).toBe(1);
    succeed();
    await pass(0);
    expect(rounds()).toBe(2);
    succeed();
    await pass(0);
    expect(rounds()).toBe(2);
  });

  it("runs one round at a time, even if a woken round outlasts the interval", async () => {
    const { task: woken, rounds, succeed, pass } = begin(1000);
    await pass(500);
    woken.wake();
    await pass(0);
    expect(rounds()).toBe(1);
    await pass(10_000);
    expect(rounds()).toBe(1);
    succeed();
    await pass(999);
    expect(rounds()).toBe(1);
    await pass(1);
    expect(rounds()).toBe(2);
    succeed();
  });

  it("waits longer after each failure, woken or not, until it succeeds", async () => {
    const { task: woken, errors, rounds, succeed, fail, pass } = begin(100);
    await pass(100);
    fail();
    await pass(0);
    woken.wake();
    await pass(199);
    expect(rounds()).toBe(1);
    await pass(1);
    expect([rounds(), errors.length]).toEqual([2, 1]);
    for (let round = 2; round < 12; round += 1) {
      fail();
      await pass(5000);
      expect(rounds()).toBe(round + 1);
    }
    succeed();
    await pass(100);
    expect(rounds()).toBe(13);
    succeed();
  });

  it("never waits less than its interval after a failure", async () => {
    const { rounds, succeed, fail, pass } = begin(60_000);
    await pass(60_000);
    fail();
    await pass(59_999);
    expect(rounds()).toBe(1);
    await pass(1);
    expect(rounds()).toBe(2);
    succeed();
  });

  it("closes after the current round, and starts no other", async () => {
    const { task: closing, rounds, succeed, pass } = begin(100);
    await pass(100);
    closing.wake();
    let closed = false;
    const close = closing.close().then(() => (closed = true));
    await pass(1000);
    expect(closed).toBe(false);
    succeed();
    await close;
    closing.wake();
    await pass(10_000);
    expect(rounds()).toBe(1);
  });

  it("starts sooner if a round asks for it, and combines wakes within its spacing", async () => {
    let rounds = 0;
    task = periodically(
      1000,
      () => Promise.resolve((rounds += 1) === 1 ? 300 : undefined),
      (error) => expect.fail(String(error)),
      {
        spacingMs: 20,
      },
    );
    await vi.advanceTimersByTimeAsync(1000);
    expect(rounds).toBe(1);
    await vi.advanceTimersByTimeAsync(299);
    expect(rounds).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(rounds).toBe(2);
    for (let n = 0; n < 19; n += 1) {
      task.wake();
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(rounds).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(rounds).toBe(3);
  });
});

describe("items of repeated work", () => {
  /** The items of 1 to 5 that were processed, and the failures, when the given items fail. */
  async function round(fails: (item: number) => boolean) {
    const done: number[] = [];
    const errors: unknown[] = [];
    const onError = (error: unknown): unknown => errors.push((error as Error).message);
    await eachRoundRobin(
      [1, 2, 3, 4, 5],
      async (item) => {
        if (fails(item)) throw new Error(`not ${item}`);
        done.push(item);
      },
      { isClosed: () => false, onError },
    ).catch(onError);
    return { done, errors };
  }

  it("are processed even if other items fail", async () => {
    expect(await round((item) => [1, 2, 4].includes(item))).toEqual({
      done: [3, 5],
      errors: ["not 1", "not 2", "not 4"],
    });
  });

  it("are left for the next round after several failures in a row", async () => {
    expect(await round(() => true)).toEqual({ done: [], errors: ["not 1", "not 2", "not 3"] });
  });
});

describe("work that must succeed once", () => {
  it("is retried until it succeeds, and then stops", async () => {
    const errors: unknown[] = [];
    let times = 0;
    task = {
      wake: () => undefined,
      ...untilDone(
        30_000,
        async () => {
          times += 1;
          if (times < 3) throw new Error("unavailable");
        },
        (error) => errors.push(error),
      ),
    };
    await vi.advanceTimersByTimeAsync(1);
    expect([times, errors.length]).toEqual([1, 1]);
    await vi.advanceTimersByTimeAsync(120_000);
    expect([times, errors.length]).toEqual([3, 2]);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(times).toBe(3);
  });
});
