import { describe, expect, it } from "vitest";
import { Problem } from "../../../../src/domain/errors.ts";
import { createPasswordQueue } from "../../../../src/services/accounts/password-queue.ts";

/** Work that runs until the test ends it. */
function work(done: string[], name: string) {
  let end: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    end = resolve;
  });
  const run = async (): Promise<void> => {
    done.push(name);
    await promise;
  };
  return { run, end: () => end() };
}

describe("sign-in-flood: the password queue", () => {
  it("limits concurrent work and serves the queue round robin", async () => {
    const turns = createPasswordQueue({ atOnce: 2, waiting: 10, waitingOfOne: 4 });
    const started: string[] = [];
    const jobs = ["a", "a", "a", "a", "a", "b", "c", "b"].map((whose, at) => ({
      whose,
      ...work(started, `${whose}${at}`),
    }));
    const all = jobs.map((job) => turns.take(job.whose, job.run));
    expect(started).toEqual(["a0", "a1"]);
    for (const job of jobs) {
      job.end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    expect(started).toEqual(["a0", "a1", "a2", "b5", "c6", "a3", "b7", "a4"]);
  });

  it("refuses work beyond the waiting limits per key and in total, and continues after failures", async () => {
    const turns = createPasswordQueue({ atOnce: 1, waiting: 3, waitingOfOne: 2 });
    const first = work([], "");
    const running = turns.take("a", first.run);
    const waiting = [turns.take("a", () => Promise.reject(new Error("broken"))), turns.take("a", async () => 1)];
    const outcomes = Promise.allSettled([...waiting, turns.take("b", async () => 2)]);
    await expect(turns.take("a", async () => 3)).rejects.toBeInstanceOf(Problem);
    await expect(turns.take("c", async () => 4)).rejects.toMatchObject({ code: "rate_limited" });
    first.end();
    await running;
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
    expect(await turns.take("a", async () => 5)).toBe(5);
  });
});
