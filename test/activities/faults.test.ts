import { ApplicationFailure, CancelledFailure, Context } from "@temporalio/activity";
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger } from "@temporalio/worker";
import { describe, expect, it, vi } from "vitest";
import { beat, whileBeating } from "../../activities/attempts.ts";
import { endFaulty, type JobError } from "../../activities/faults.ts";
import { createProviderActivities } from "../../activities/providers/index.ts";
import type { ToolsImportInput } from "../../src/domain/providers/jobs.ts";
import { BlobsUnavailable } from "../../src/platform/blobs/types.ts";
import { FetchFailed } from "../../src/platform/fetch/guarded-fetch-errors.ts";
import { openTenant } from "../api/tenant.ts";

type ImportDeps = Parameters<typeof createProviderActivities>[0];

/** These tests make activities fail on purpose, so their warnings are not logged. */
const QUIET = { logger: new DefaultLogger("ERROR") };

interface Attempts {
  /** The error of each attempt. */
  readonly thrown: readonly unknown[];
  /** The errors that were recorded as the end of the job. */
  readonly ends: readonly JobError[];
}

interface Options {
  /** Records the end of the job. */
  readonly end?: ((error: JobError) => Promise<unknown>) | null;
  readonly attempts?: number;
}

/** Runs an activity as Temporal does: retries it with the details of the last heartbeat until its failure is final. */
async function tried(work: () => Promise<void>, { end, attempts = 12 }: Options = {}): Promise<Attempts> {
  const ends: JobError[] = [];
  const writing = async (_: unknown, error: JobError): Promise<void> => {
    ends.push(error);
    await end?.(error);
  };
  const step: (input: string) => Promise<void> = () => work();
  const activities = endFaulty({ step }, { step: end === null ? null : writing });
  const thrown: unknown[] = [];
  let carried: unknown;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const environment = new MockActivityEnvironment({ attempt, heartbeatDetails: carried }, QUIET);
    environment.on("heartbeat", (details: unknown) => (carried = details));
    const error: unknown = await environment.run(() => activities.step("it")).catch((reason: unknown) => reason);
    thrown.push(error);
    if (error === undefined || (error instanceof ApplicationFailure && error.nonRetryable)) break;
  }
  return { thrown, ends };
}

const fails = (error: unknown) => (): Promise<void> => Promise.reject(error);
const FAULT = new Error("duplicate key value violates unique constraint");
const NAMED = {
  code: "internal_error",
  message: "The step step failed 6 times because of an internal error.",
};
const away = (): Error => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

describe("a job whose step fails with an internal error", () => {
  it("fails for good on the sixth attempt and names the step", async () => {
    const { thrown, ends } = await tried(fails(FAULT));
    expect(thrown).toHaveLength(6);
    expect(thrown.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => FAULT));
    expect(thrown[5]).toMatchObject({
      type: "internal_error",
      nonRetryable: true,
      message: NAMED.message,
      cause: FAULT,
    });
    expect(ends).toEqual([NAMED]);
  });

  it("fails for good also with heartbeats between the errors, or without an end handler", async () => {
    const beating = async (): Promise<void> => {
      beat(Context.current());
      throw FAULT;
    };
    expect(await tried(beating)).toMatchObject({ thrown: { length: 6 }, ends: [NAMED] });
    expect(await tried(fails(FAULT), { end: null })).toMatchObject({ thrown: { length: 6 }, ends: [] });
  });

  it.each([
    ["a database", away()],
    ["a blob store that cannot be reached", new FetchFailed("connection_failed", "The connection failed.")],
    ["a blob store that answers 503", new BlobsUnavailable("S3 answered 503 SlowDown to PUT.")],
  ])("retries through an outage of %s, which does not count as a failed attempt", async (_, outage) => {
    expect(await tried(fails(outage), { attempts: 40 })).toMatchObject({ thrown: { length: 40 }, ends: [] });
    let attempt = 0;
    const mixed = (): Promise<void> => {
      attempt += 1;
      return Promise.reject(attempt % 2 === 0 ? FAULT : outage);
    };
    expect(await tried(mixed, { attempts: 40 })).toMatchObject({ thrown: { length: 12 }, ends: [NAMED] });
  });

  it("fails for good even if its end cannot be recorded, but retries while the database is unavailable", async () => {
    const refusing = await tried(fails(FAULT), { end: () => Promise.reject(new Error("not today")) });
    expect(refusing).toMatchObject({ thrown: { length: 6 }, ends: { length: 1 } });
    let left = 3;
    const back = await tried(fails(FAULT), {
      end: async () => {
        left -= 1;
        if (left > 0) throw away();
      },
    });
    // The end is recorded as soon as recording works again, and once more on each later attempt.
    expect(back).toMatchObject({ thrown: { length: 8 }, ends: { length: 3 } });
    expect(back.thrown.at(-1)).toMatchObject({ nonRetryable: true });
  });

  it("fails immediately on a non-retryable failure and records it without secrets", async () => {
    const final = ApplicationFailure.nonRetryable("refused for sk-planted-0123456789abcdef0123", "too_large");
    const { thrown, ends } = await tried(fails(final));
    expect(thrown).toEqual([final]);
    expect(ends).toMatchObject([{ code: "too_large" }]);
    expect(ends[0]?.message).not.toContain("sk-planted");
    const again = ApplicationFailure.retryable("busy", "over_share");
    expect(await tried(fails(again), { attempts: 40 })).toMatchObject({ thrown: { length: 40 }, ends: [] });
  });

  it("does not end when it is cancelled or when a later attempt succeeds", async () => {
    const cancelled = new CancelledFailure("cancelled");
    expect(await tried(fails(cancelled), { attempts: 10 })).toMatchObject({ thrown: { length: 10 }, ends: [] });
    let left = 5;
    const passing = async (): Promise<void> => {
      left -= 1;
      if (left >= 0) throw FAULT;
    };
    expect(await tried(passing)).toMatchObject({ thrown: { length: 6 }, ends: [] });
  });
});

it("deletes the connection that a failed import created, and keeps a connection that existed before", async () => {
  const tenant = await openTenant();
  const credential = { api_key: "sk-planted", base_url: "http://127.0.0.1:9/v1" };
  const wanted = { name: "C", provider_id: "openai_compatible", scheme: "api_key", credential };
  const imported = async (new_connection: boolean): Promise<number> => {
    const { body } = await tenant.secret.post("/v2/connections", wanted);
    const { connection_id } = body;
    const input = { org_id: tenant.org_id, provider_id: "p", url: "http://127.0.0.1:9", connection_id, new_connection };
    await tenant.withDatabase(async (db) => {
      const connections = { resolve: fails(FAULT) };
      const deps = { db, connections, onFailure: () => undefined } as unknown as ImportDeps;
      const { importTools } = createProviderActivities(deps);
      const environment = new MockActivityEnvironment({ attempt: 6, heartbeatDetails: { faults: 5 } }, QUIET);
      const ended = environment.run(() => importTools(input as ToolsImportInput));
      await expect(ended).rejects.toMatchObject({ type: "internal_error", nonRetryable: true });
    });
    return (await tenant.secret.get(`/v2/connections/${connection_id}`)).status;
  };
  expect([await imported(true), await imported(false)]).toEqual([404, 200]);
});

it("keeps the error count of earlier attempts in every heartbeat", async () => {
  const environment = new MockActivityEnvironment({ attempt: 4, heartbeatDetails: { faults: 3, handed_back: 1 } });
  const beats: unknown[] = [];
  environment.on("heartbeat", (details: unknown) => beats.push(details));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  await environment
    .run(async () => {
      beat(Context.current());
      await whileBeating(async () => void vi.advanceTimersByTime(1200));
    })
    .finally(() => vi.useRealTimers());
  expect(beats.length).toBeGreaterThanOrEqual(2);
  for (const each of beats) expect(each).toEqual({ faults: 3, handed_back: 1 });
});
