import { Context, type ApplicationFailure } from "@temporalio/activity";
import { MockActivityEnvironment } from "@temporalio/testing";
import { describe, expect, it } from "vitest";
import { attemptOf, beat, countAnswers, requireAnswers, whileBeating } from "../../activities/attempts.ts";
import { createLocalShares } from "../../activities/local-shares.ts";
import { shareOut } from "../../activities/shares.ts";
import { PRIORITY_KEYS, type Urgency } from "../../src/domain/urgency.ts";
import { ChildPoolError } from "../../src/platform/children/pool-failure.ts";

/** Runs an activity for an organisation as Temporal would, and records its heartbeats. */
async function run<T>(
  work: () => Promise<T>,
  {
    org,
    attempt = 1,
    carried,
    urgency = "later",
  }: { org?: string; attempt?: number; carried?: object; urgency?: Urgency } = {},
): Promise<{ result: T | ApplicationFailure; beats: unknown[] }> {
  const environment = new MockActivityEnvironment({
    attempt,
    heartbeatDetails: carried,
    ...(org === undefined ? {} : { priority: { fairnessKey: org, priorityKey: PRIORITY_KEYS[urgency] } }),
  });
  const beats: unknown[] = [];
  environment.on("heartbeat", (details: unknown) => beats.push(details));
  const result = (await environment.run(work).catch((error: unknown) => error)) as T | ApplicationFailure;
  return { result, beats };
}

function gated() {
  let open = (): void => undefined;
  let gate: Promise<void>;
  const close = (): void => {
    gate = new Promise<void>((resolve) => (open = resolve));
  };
  close();
  let started = 0;
  const activities = shareOut(
    {
      async work() {
        started += 1;
        await gate;
        return attemptOf(Context.current());
      },
    },
    4,
  );
  return { open: () => open(), close, started: () => started, work: () => activities.work() };
}

describe("the slots of a worker", () => {
  it("noisy-neighbour: hand back work beyond an organisation's share before it starts, with growing delays", async () => {
    const { open, started, work } = gated();
    const held = [run(work, { org: "noisy" }), run(work, { org: "noisy" })];
    const delays: number[] = [];
    for (let at = 0; at < 3; at += 1) {
      const { result, beats } = await run(work, { org: "noisy", attempt: at + 1, carried: { handed_back: at } });
      expect(result).toMatchObject({ type: "over_share", nonRetryable: false });
      delays.push(Number((result as ApplicationFailure).nextRetryDelay));
      expect(beats).toEqual([{ handed_back: at + 1 }]);
    }
    expect(delays[0]).toBeGreaterThanOrEqual(1000);
    expect(delays).toEqual(delays.toSorted((a, b) => a - b));
    expect(new Set(delays).size).toBe(3);
    expect(started()).toBe(2);
    const quiet = run(work, { org: "quiet" });
    expect(started()).toBe(3);
    open();
    expect((await Promise.all([...held, quiet])).map(({ result }) => result)).toEqual([1, 1, 1]);
  });

  it("accept urgent work beside batch work of the same organisation, or retry it soon", async () => {
    const { open, started, work } = gated();
    const batch = { org: "noisy", urgency: "batch" } as const;
    const delayOf = ({ result }: { result: unknown }): number => Number((result as ApplicationFailure).nextRetryDelay);
    const held = [run(work, batch)];
    for (let at = 0; at < 300; at += 1) await run(work, batch);
    expect(delayOf(await run(work, batch))).toBeGreaterThan(60_000);
    expect(started()).toBe(1);
    held.push(run(work, { org: "noisy", urgency: "awaited" }));
    expect(started()).toBe(2);
    for (let at = 0; at < 300; at += 1) await run(work, { org: "noisy", urgency: "awaited" });
    expect(delayOf(await run(work, { org: "noisy", urgency: "awaited" }))).toBeLessThanOrEqual(5000);
    open();
    await Promise.all(held);
  });

  it("are retried soon once an earlier load of the organisation has ended", async () => {
    const first = gated();
    const held = [run(first.work, { org: "noisy" }), run(first.work, { org: "noisy" })];
    for (let at = 0; at < 300; at += 1) await run(first.work, { org: "noisy" });
    first.open();
    await Promise.all(held);
    first.close();
    const again = [run(first.work, { org: "noisy" }), run(first.work, { org: "noisy" })];
    const { result } = await run(first.work, { org: "noisy" });
    expect(Number((result as ApplicationFailure).nextRetryDelay)).toBeLessThan(10_000);
    first.open();
    await Promise.all(again);
  });

  it("are released after each activity, and handed-back attempts are not counted as attempts", async () => {
    const { open, work } = gated();
    open();
    for (let at = 0; at < 6; at += 1) expect((await run(work, { org: "noisy" })).result).toBe(1);
    expect((await run(work, { org: "noisy", attempt: 4, carried: { handed_back: 3 } })).result).toBe(1);
    expect((await run(work, { org: "noisy", attempt: 4 })).result).toBe(4);
  });

  it("are unlimited for workflows without an organisation", async () => {
    const { open, started, work } = gated();
    const all = Array.from({ length: 9 }, () => run(work));
    expect(started()).toBe(9);
    open();
    await Promise.all(all);
  });
});

describe("the slots for local work", () => {
  function localGate(places: number) {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let started = 0;
    const inPlace = createLocalShares({ places, patienceMs: 20 });
    const work = (org: string) =>
      inPlace(org, async () => {
        started += 1;
        await gate;
        return "done";
      });
    return { open: () => open(), started: () => started, work };
  }

  it("noisy-neighbour: hand back work that finds no free slot within the waiting time, to be retried later", async () => {
    const { open, started, work } = localGate(4);
    const held = [work("noisy"), work("noisy")];
    expect(await work("noisy")).toEqual({ handed_back_ms: expect.any(Number) as number });
    const quiet = work("quiet");
    await expect.poll(started).toBe(3);
    open();
    expect(await Promise.all([...held, quiet])).toEqual(["done", "done", "done"]);
  });

  it("are given to waiting work when they become free", async () => {
    const inPlace = createLocalShares({ places: 4, patienceMs: 60_000 });
    const all = Array.from({ length: 30 }, (_, at) => inPlace("busy", () => Promise.resolve(at)));
    expect(await Promise.all(all)).toEqual(Array.from({ length: 30 }, (_, at) => at));
  });

  it("noisy-neighbour: limit how much work of one organisation may wait", async () => {
    const inPlace = createLocalShares({ places: 4, patienceMs: 60_000 });
    const forever = () => new Promise<string>(() => undefined);
    for (let at = 0; at < 2 + 64; at += 1) void inPlace("noisy", forever);
    expect(await inPlace("noisy", forever)).toHaveProperty("handed_back_ms");
  });

  it("hand back work if the process pool is full", async () => {
    const inPlace = createLocalShares({ places: 4, patienceMs: 20 });
    const busy = () => Promise.reject(new ChildPoolError("queue_full", "Too many wait."));
    expect(await inPlace("busy", busy)).toHaveProperty("handed_back_ms");
    await expect(inPlace("busy", () => Promise.reject(new Error("a fault")))).rejects.toThrow("a fault");
  });
});

it("a heartbeat keeps the details carried over from earlier attempts", async () => {
  const { beats } = await run(
    async () => {
      beat(Context.current(), { progress: 1 });
      await whileBeating(() => new Promise((resolve) => setTimeout(resolve, 1100)));
    },
    { attempt: 3, carried: { handed_back: 2 } },
  );
  expect(beats).toEqual([{ progress: 1, handed_back: 2 }, { handed_back: 2 }]);
});

describe("noisy-neighbour: attempts that crash their worker process", () => {
  const attempt = () => Promise.resolve(requireAnswers(Context.current()));
  const gone = countAnswers(() => Promise.reject(new Error("the database is gone")));
  const failing = () => gone(null);

  it("are limited, and the last one fails with an error that says so", async () => {
    expect((await run(attempt, { attempt: 5 })).result).toBeUndefined();
    expect((await run(attempt, { attempt: 6 })).result).toMatchObject({ code: "worker_lost", retryable: false });
  });

  it("do not include attempts that failed with an error or were handed back", async () => {
    const carried = { handed_back: 20, answered: 30 };
    expect((await run(failing, { attempt: 51, carried })).beats).toEqual([{ handed_back: 20, answered: 31 }]);
    expect((await run(attempt, { attempt: 55, carried })).result).toBeUndefined();
    expect((await run(attempt, { attempt: 56, carried })).result).toMatchObject({ code: "worker_lost" });
  });
});
