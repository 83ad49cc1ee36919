import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { loadConfig } from "../../../src/config.ts";
import { createStartQueue, type StartQueue, type StartQueueDeps } from "../../../src/services/runs/start-queue.ts";
import { insertRuns, requestCancel, takeRunsToCheck } from "../../../src/stores/runs/runs.ts";
import { connectTemporal, type TemporalConnection } from "../../../src/temporal/connection.ts";
import { createRunStarter, type RunStarter } from "../../../src/temporal/runs.ts";
import type { RunInput } from "../../../src/domain/runs/run.ts";
import { compileFlow } from "../../../src/domain/flow/plan/compile.ts";
import { buildRun, buildTenant, ownDatabase, type Tenant } from "../../stores/rows.ts";
import { flow } from "../../support/flows.ts";
import { dataConverter, startInputs } from "../../support/payloads.ts";

const own = ownDatabase();
const plan = compileFlow(flow());
let tenant: Tenant;
let temporal: TemporalConnection;
let starter: RunStarter;

beforeAll(async () => {
  tenant = await buildTenant(own.database);
  const config = loadConfig({
    DATABASE_URL: "postgres://unused",
    TEMPORAL_ADDRESS: inject("millrace").temporalAddress,
  });
  temporal = await connectTemporal(config, dataConverter);
  starter = createRunStarter({ client: temporal.client, taskQueuePrefix: "test-start-queue", eager: () => false });
});
afterAll(() => temporal?.close());

const fails = (error: unknown): never => {
  throw error;
};
const cancelledRuns: string[] = [];
const onCancelled = async ({ run_id }: { readonly run_id: string }): Promise<void> => void cancelledRuns.push(run_id);
const runs = (count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => buildRun(own.database, tenant)));
const queueWith = (more: Partial<StartQueueDeps>): StartQueue =>
  createStartQueue({ db: own.database, startInputs, starter, onError: fails, onCancelled, ...more });
/** Queues a run whose row exists. */
const accept = (queue: StartQueue, run_id: string, org_id = tenant.org_id): Promise<void> =>
  queue.accept(org_id, async (add) => add({ run_id, org_id, plan }));
const refusal = (accepted: Promise<unknown>): Promise<unknown> => accepted.catch((error: unknown) => error);
const TOO_MANY = { code: "too_many_new_runs", headers: { "Retry-After": "1" } };

describe("the queue of runs to be started", () => {
  it("starts them in the order of arrival", async () => {
    const order: string[] = [];
    const noting: RunStarter = {
      ...starter,
      start: (input, when) => {
        order.push(input.run_id);
        return starter.start(input, when);
      },
    };
    const queue = queueWith({ starter: noting });
    const ids = await runs(30);
    for (const run_id of ids) await accept(queue, run_id);
    await expect.poll(() => order, { timeout: 30_000 }).toEqual(ids);
    await queue.close();
    for (const id of [ids[0], ids[29]]) expect(await starter.look(id ?? "")).toMatchObject({ view: "running" });
  });

  it("starts two at a time, and the next two when both have started", async () => {
    const held: (() => void)[] = [];
    const holding: RunStarter = { ...starter, start: () => new Promise((resolve) => held.push(resolve)) };
    const queue = queueWith({ starter: holding });
    // The first run is alone in the queue when it starts.
    for (const run_id of await runs(5)) await accept(queue, run_id);
    await expect.poll(() => held.length).toBe(1);
    held[0]?.();
    await expect.poll(() => held.length).toBe(3);
    held[1]?.();
    await new Promise((resolve) => setImmediate(resolve));
    expect([held.length, queue.size()]).toEqual([3, 4]);
    held[2]?.();
    await expect.poll(() => held.length).toBe(5);
    for (const start of held.slice(3)) start();
    await expect.poll(() => queue.size()).toBe(0);
    await queue.close();
  });

  it("does not start a run that was cancelled while it waited, and reports it as cancelled", async () => {
    const started: string[] = [];
    const noting: RunStarter = { ...starter, start: async ({ run_id }) => void started.push(run_id) };
    const queue = queueWith({ starter: noting });
    const [cancelled = "", kept = ""] = await runs(2);
    await own.database.org(tenant.org_id, (db) => requestCancel(db, cancelled, null));
    await accept(queue, cancelled);
    await accept(queue, kept);
    await expect.poll(() => started).toEqual([kept]);
    expect(cancelledRuns).toEqual([cancelled]);
    await queue.close();
  });

  it("noisy-neighbour: starts round robin by organisation, and one full queue does not block others", async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const started: string[] = [];
    const gated: RunStarter = {
      ...starter,
      start: async ({ org_id }) => {
        started.push(org_id);
        await gate;
      },
    };
    const queue = queueWith({ starter: gated, maxQueued: 40 });
    const other = await buildTenant(own.database);
    const many = await runs(21);
    await Promise.all(many.slice(0, 20).map((run_id) => accept(queue, run_id)));
    expect(await refusal(accept(queue, many[20] ?? ""))).toMatchObject(TOO_MANY);
    await accept(queue, await buildRun(own.database, other), other.org_id);
    release();
    await expect.poll(() => started.length, { timeout: 30_000 }).toBe(21);
    expect(started.indexOf(other.org_id)).toBeLessThan(8);
    await queue.close();
  });

  it("leaves remaining runs to the sweeper when it closes", async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const slow: RunStarter = { ...starter, start: () => gate };
    const queue = queueWith({ starter: slow });
    const [first = "", second = "", third = ""] = await runs(3);
    await accept(queue, first);
    await accept(queue, second);
    const closing = queue.close();
    await accept(queue, third);
    release();
    await closing;
    const due = await own.database.system((db) => takeRunsToCheck(db, 1000, 60_000));
    expect(due.map(({ run_id }) => run_id)).toContain(second);
    expect(due.map(({ run_id }) => run_id)).not.toContain(third);
  });
});

it("noisy-neighbour: an organisation starts few runs at the same time, and another's starts do not wait for them", async () => {
  const held: Array<() => void> = [];
  const start = () => new Promise<void>((resolve) => held.push(resolve));
  const client = { workflow: { start } } as unknown as typeof temporal.client;
  const holding = createRunStarter({ client, taskQueuePrefix: "test-start-queue", eager: () => false });
  const run = { run_id: "run", project_id: "project", timeout_seconds: 60 } as RunInput;
  const many = Array.from({ length: 20 }, () => holding.start({ ...run, org_id: "a" }, { urgency: "awaited" }));
  await expect.poll(() => held.length).toBe(6);
  const other = holding.start({ ...run, org_id: "b" }, { urgency: "later" });
  await expect.poll(() => held.length).toBe(7);
  held[6]?.();
  await other;
  while (held.length > 0) {
    held.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(many);
});

describe("the acceptance of runs that no caller waits for", () => {
  it("limits concurrent inserts; organisations take turns, each in its own order", async () => {
    const queue = queueWith({ acceptedAtOnce: 2 });
    const inserting: Array<{ readonly org_id: string; end(): void }> = [];
    const insert = (org_id: string): Promise<void> =>
      queue.accept(org_id, () => new Promise((resolve) => inserting.push({ org_id, end: resolve })));
    const all = ["a", "a", "a", "a", "b"].map(insert);
    expect(inserting.map(({ org_id }) => org_id)).toEqual(["a", "a"]);
    for (let at = 0; at < all.length; at += 1) {
      await expect.poll(() => inserting.length).toBe(Math.min(all.length, at + 2));
      inserting[at]?.end();
    }
    await Promise.all(all);
    expect(inserting.map(({ org_id }) => org_id)).toEqual(["a", "a", "a", "b", "a"]);
    expect(queue.size()).toBe(0);
    await queue.close();
  });

  it("noisy-neighbour: a run with short inputs does not wait for long inputs of others", async () => {
    const queue = queueWith({ acceptedAtOnce: 1 });
    let stored = (): void => undefined;
    const long = queue.accept("a", () => new Promise<void>((resolve) => (stored = resolve)), true);
    await queue.accept("b", async () => undefined);
    expect(queue.size()).toBe(1);
    stored();
    await long;
    await queue.close();
  });

  it("refuses a run that waited too long, and accepts again when there is a slot", async () => {
    const queue = queueWith({
      starter: { ...starter, start: async () => undefined },
      acceptedAtOnce: 1,
      acceptWithinMs: 20,
    });
    let release = (): void => undefined;
    const first = queue.accept(tenant.org_id, () => new Promise<void>((resolve) => (release = resolve)));
    let inserted = false;
    const second = queue.accept(tenant.org_id, async () => void (inserted = true));
    expect(await refusal(second)).toMatchObject(TOO_MANY);
    release();
    await first;
    expect(inserted).toBe(false);
    await accept(queue, (await runs(1))[0] ?? "");
    await expect.poll(() => queue.size()).toBe(0);
    await queue.close();
  });

  it.each([
    { yieldMs: 60_000, after: "all but the last" },
    { yieldMs: 1, after: "a few" },
  ])("precedes starts, which wait at most $yieldMs ms for it", async ({ yieldMs, after }) => {
    const events: string[] = [];
    const noting: RunStarter = { ...starter, start: async () => void events.push("started") };
    const queue = queueWith({ starter: noting, acceptedAtOnce: 1, acceptWithinMs: 60_000, yieldMs });
    const arriving = Array.from({ length: 30 }, () =>
      queue.accept(tenant.org_id, async (add) => {
        add({ run_id: await buildRun(own.database, tenant), org_id: tenant.org_id, plan });
        events.push("accepted");
      }),
    );
    await Promise.all(arriving);
    await expect.poll(() => queue.size(), { timeout: 30_000 }).toBe(0);
    // While the last run is accepted, no caller waits.
    expect(events.indexOf("started") < 29 ? "a few" : "all but the last").toBe(after);
    expect(events.filter((event) => event === "started")).toHaveLength(30);
    await queue.close();
  });

  it("noisy-neighbour: does not delay the start of an organisation whose runs do not keep arriving", async () => {
    const started: string[] = [];
    const noting: RunStarter = { ...starter, start: async ({ org_id }) => void started.push(org_id) };
    const queue = queueWith({ starter: noting, acceptedAtOnce: 1, acceptWithinMs: 60_000, yieldMs: 60_000 });
    const other = await buildTenant(own.database);
    const run_id = await buildRun(own.database, other);
    const held: Array<() => void> = [];
    const arrive = async (id: string): Promise<void> =>
      queue.accept(tenant.org_id, async (add) => {
        add({ run_id: id, org_id: tenant.org_id, plan });
        await new Promise<void>((resolve) => held.push(resolve));
      });
    const arrived = (await runs(4)).map(arrive);
    const accepted = accept(queue, run_id, other.org_id);
    for (const at of [0, 1]) {
      await expect.poll(() => held.length).toBe(at + 1);
      held[at]?.();
    }
    await accepted;
    await expect.poll(() => started).toContain(other.org_id);
    expect(started.length).toBeLessThan(4);
    for (const at of [2, 3]) {
      await expect.poll(() => held.length).toBe(at + 1);
      held[at]?.();
    }
    await Promise.all(arrived);
    await queue.close();
  });

  it("does not delay the closing of the queue", async () => {
    const atOnce = { ...starter, start: async () => undefined };
    const queue = queueWith({ starter: atOnce, acceptedAtOnce: 1, acceptWithinMs: 60_000, yieldMs: 60_000 });
    const held: Array<() => void> = [];
    const hold = (): Promise<void> => queue.accept(tenant.org_id, () => new Promise((resolve) => held.push(resolve)));
    const [run_id = ""] = await runs(1);
    const first = hold();
    const queued = accept(queue, run_id);
    const others = [hold(), hold()];
    held[0]?.();
    await Promise.all([first, queued]);
    await queue.close();
    held[1]?.();
    await expect.poll(() => held.length).toBe(3);
    held[2]?.();
    await Promise.all(others);
  });

  it("releases the queue slot when inserting the run fails", async () => {
    const queue = queueWith({ maxQueued: 2 });
    const broken = new Error("the database is down");
    for (let at = 0; at < 3; at += 1) {
      const failing = queue.accept(tenant.org_id, () => Promise.reject(broken));
      expect(await refusal(failing)).toBe(broken);
    }
    expect(queue.size()).toBe(0);
    await queue.close();
  });
});

describe("rows inserted together", () => {
  it("are inserted once each, whatever they hold", async () => {
    const known = await buildRun(own.database, tenant);
    const row = await own.database.system(async (db) => {
      const [found] = await db.query<Record<string, unknown>>("select * from runs where run_id = $1::uuid", [known]);
      return found;
    });
    const fresh = {
      ...row,
      run_id: known.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
      inputs: { "in-0": { v: "\u0000 ünï \ud83d\ude00" } },
      tags: ["a", 'b"{,}'],
      user_id: null,
      resumed_from: null,
      run_at: null,
    };
    const both = [row, fresh] as unknown as Parameters<typeof insertRuns>[1];
    const inserted = await own.database.org(tenant.org_id, (db) => insertRuns(db, both));
    expect([...inserted]).toEqual([fresh.run_id]);
    const [stored] = await own.database.system((db) =>
      db.query("select inputs, tags, resumed_from, run_at, ignored_inputs from runs where run_id = $1::uuid", [
        fresh.run_id,
      ]),
    );
    expect(stored).toMatchObject({
      inputs: { "in-0": { v: "\ufffd ünï \ud83d\ude00" } },
      tags: ["a", 'b"{,}'],
      resumed_from: null,
      run_at: null,
    });
  });
});
