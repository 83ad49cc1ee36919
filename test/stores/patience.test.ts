import { describe, expect, it } from "vitest";
import { whileDatabaseIsAway } from "../../src/stores/patience.ts";

const away = (code = "ECONNREFUSED"): Error => Object.assign(new Error("connect"), { code });

/** Work that fails with these errors before it succeeds, without waiting. */
function failing(errors: readonly Error[]) {
  const left = [...errors];
  const waits: number[] = [];
  const seen: unknown[] = [];
  return {
    waits,
    seen,
    work: async (): Promise<string> => {
      const error = left.shift();
      if (error) throw error;
      return "written";
    },
    sleep: async (ms: number): Promise<void> => void waits.push(ms),
    onError: (error: unknown): void => void seen.push(error),
  };
}

describe("while the database is unavailable", () => {
  it("work is retried at growing intervals up to a limit", async () => {
    const { work, waits, sleep } = failing(
      Array.from({ length: 6 }, (_, n) => away(n % 2 === 0 ? "ECONNREFUSED" : "EAI_AGAIN")),
    );
    expect(await whileDatabaseIsAway(work, { maxMs: 60_000, maxWaitMs: 500, sleep })).toBe("written");
    expect(waits).toEqual([100, 200, 400, 500, 500, 500]);
  });

  it("work fails when the time limit is reached or the waiting is stopped", async () => {
    const late = failing([away(), away()]);
    await expect(whileDatabaseIsAway(late.work, { maxMs: -1, sleep: late.sleep })).rejects.toThrow("connect");
    const { work } = failing([away()]);
    const stopped = { maxMs: 60_000, sleep: () => Promise.reject(new Error("stopping")) };
    await expect(whileDatabaseIsAway(work, stopped)).rejects.toThrow("stopping");
  });

  it("an error of another kind is final, except for as many as are allowed", async () => {
    const once = failing([new Error("constraint")]);
    await expect(whileDatabaseIsAway(once.work, { maxMs: 60_000, sleep: once.sleep })).rejects.toThrow("constraint");
    const errors = [new Error("one"), away(), new Error("two"), new Error("three")];
    const { work, sleep, seen, onError } = failing(errors);
    await expect(whileDatabaseIsAway(work, { maxMs: 60_000, maxFaults: 2, sleep, onError })).rejects.toThrow("three");
    expect(seen).toEqual(errors);
  });
});
