import { Context } from "@temporalio/activity";
import type { ApplicationFailure } from "@temporalio/activity";
import { MockActivityEnvironment } from "@temporalio/testing";
import { describe, expect, it } from "vitest";
import { attemptOf, beat, whileBeating } from "../../activities/attempts.ts";
import { shareOut } from "../../activities/shares.ts";

/** Runs an activity as Temporal would, for an organisation; what its heartbeats carry is noted. */
async function run<T>(
  work: () => Promise<T>,
  { org, attempt = 1, carried }: { org?: string; attempt?: number; carried?: object } = {},
): Promise<{ result: T | ApplicationFailure; beats: unknown[] }> {
  const environment = new MockActivityEnvironment({
    attempt,
    heartbeatDetails: carried,
    ...(org === undefined ? {} : { priority: { fairnessKey: org } }),
  });
  const beats: unknown[] = [];
  environment.on("heartbeat", (details: unknown) => beats.push(details));
  const result = (await environment.run(work).catch((error: unknown) => error)) as T | ApplicationFailure;
  return { result, beats };
}

function gated() {
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  let begun = 0;
  const activities = shareOut(
    {
      async work() {
        begun += 1;
        await gate;
        return attemptOf(Context.current());
      },
    },
    4,
  );
  return { open, begun: () => begun, work: () => activities.work() };
}

describe("the places of a worker", () => {
  it("noisy-neighbour: hand back what is beyond an organisation's share, later and later, before it begins", async () => {
    const { open, begun, work } = gated();
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
    expect(begun()).toBe(2);
    const quiet = run(work, { org: "quiet" });
    expect(begun()).toBe(3);
    open();
    expect((await Promise.all([...held, quiet])).map(({ result }) => result)).toEqual([1, 1, 1]);
  });

  it("are free again for who returns, who has begun but once", async () => {
    const { open, work } = gated();
    open();
    for (let at = 0; at < 6; at += 1) expect((await run(work, { org: "noisy" })).result).toBe(1);
    expect((await run(work, { org: "noisy", attempt: 4, carried: { handed_back: 3 } })).result).toBe(1);
    expect((await run(work, { org: "noisy", attempt: 4 })).result).toBe(4);
  });

  it("are not counted for workflows without an organisation", async () => {
    const { open, begun, work } = gated();
    const all = Array.from({ length: 9 }, () => run(work));
    expect(begun()).toBe(9);
    open();
    await Promise.all(all);
  });
});

it("a heartbeat keeps what earlier attempts have carried", async () => {
  const { beats } = await run(
    async () => {
      beat(Context.current(), { progress: 1 });
      await whileBeating(() => new Promise((resolve) => setTimeout(resolve, 1100)));
    },
    { attempt: 3, carried: { handed_back: 2 } },
  );
  expect(beats).toEqual([{ progress: 1, handed_back: 2 }, { handed_back: 2 }]);
});
