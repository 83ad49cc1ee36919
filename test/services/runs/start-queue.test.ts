import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { loadConfig } from "../../../src/config.ts";
import { createPace } from "../../../src/services/runs/start-pace.ts";
import { createStartQueue } from "../../../src/services/runs/start-queue.ts";
import { insertRuns, requestCancel, takeRunsToCheck } from "../../../src/stores/runs/runs.ts";
import { connectTemporal } from "../../../src/temporal/connection.ts";
import type { TemporalConnection } from "../../../src/temporal/connection.ts";
import { createRunStarter } from "../../../src/temporal/runs.ts";
import type { RunStarter } from "../../../src/temporal/runs.ts";
import { compileFlow } from "../../../src/domain/flow/plan/compile.ts";
import { buildRun, buildTenant, ownDatabase } from "../../stores/rows.ts";
import type { Tenant } from "../../stores/rows.ts";
import { flow } from "../../support/flows.ts";

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
  temporal = await connectTemporal(config);
  starter = createRunStarter({ client: temporal.client, taskQueuePrefix: "test-start-queue", eager: false });
});
afterAll(() => temporal?.close());

const fails = (error: unknown): never => {
  throw error;
};
const runs = (count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => buildRun(own.database, tenant)));

describe("the line of runs to be started", () => {
  it("starts them in the order they came", async () => {
    const order: string[] = [];
    const noting: RunStarter = {
      ...starter,
      start: (input, when) => {
        order.push(input.run_id);
        return starter.start(input, when);
      },
    };
    const queue = createStartQueue({ db: own.database, starter: noting, onError: fails });
    const ids = await runs(30);
    for (const run_id of ids) await queue.add({ run_id, org_id: tenant.org_id, plan });
    await expect.poll(() => order, { timeout: 30_000 }).toEqual(ids);
    await queue.close();
    for (const id of [ids[0], ids[29]]) expect(await starter.look(id ?? "")).toMatchObject({ view: "running" });
  });

  it("does not start what was cancelled meanwhile", async () => {
    const started: string[] = [];
    const noting: RunStarter = { ...starter, start: async ({ run_id }) => void started.push(run_id) };
    const queue = createStartQueue({ db: own.database, starter: noting, onError: fails });
    const [cancelled = "", kept = ""] = await runs(2);
    await own.database.org(tenant.org_id, (db) => requestCancel(db, cancelled, null));
    await queue.add({ run_id: cancelled, org_id: tenant.org_id, plan });
    await queue.add({ run_id: kept, org_id: tenant.org_id, plan });
    await expect.poll(() => started).toEqual([kept]);
    await queue.close();
  });

  it("noisy-neighbour: starts round robin by organisation, and a full queue of one keeps nobody else out", async () => {
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
    const queue = createStartQueue({ db: own.database, starter: gated, onError: fails, maxQueued: 40 });
    const other = await buildTenant(own.database);
    const many = await runs(30);
    const waiting = many.map((run_id) => queue.add({ run_id, org_id: tenant.org_id, plan }));
    await Promise.all(waiting.slice(0, 20));
    const run_id = await buildRun(own.database, other);
    await queue.add({ run_id, org_id: other.org_id, plan });
    release();
    await Promise.all(waiting);
    await expect.poll(() => started.length, { timeout: 30_000 }).toBe(31);
    expect(started.indexOf(other.org_id)).toBeLessThan(4);
    await queue.close();
  });

  it("makes who comes wait for a place when it is full, and hands what is left to the sweeper when it closes", async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const slow: RunStarter = { ...starter, start: () => gate };
    const queue = createStartQueue({ db: own.database, starter: slow, onError: fails, maxQueued: 4 });
    const [first = "", second = "", third = ""] = await runs(3);
    const { org_id } = tenant;
    await queue.add({ run_id: first, org_id, plan });
    await queue.add({ run_id: second, org_id, plan });
    let admitted = false;
    const waiting = queue.add({ run_id: third, org_id, plan }).then(() => (admitted = true));
    await delay(50);
    expect([admitted, queue.size()]).toEqual([false, 2]);
    const closing = queue.close();
    release();
    await Promise.all([waiting, closing]);
    const due = await own.database.system((db) => takeRunsToCheck(db, 1000, 60_000));
    expect(due.map(({ run_id }) => run_id)).toContain(second);
    expect(due.map(({ run_id }) => run_id)).not.toContain(third);
  });
});

describe("the pace of starts", () => {
  it("quickens while calls are quick, slows down when they slow down, and quickens again", async () => {
    const rests: number[] = [];
    const pace = createPace(async (ms) => rests.push(ms));
    const round = async (ms: number): Promise<number> => {
      for (let call = pace.batch(); call > 0; call -= 1) pace.note(ms);
      await pace.rest();
      return pace.batch();
    };
    for (let at = 0; at < 6; at += 1) await round(10);
    expect([pace.batch(), rests.length]).toEqual([7, 0]);
    for (let at = 0; at < 6; at += 1) await round(100);
    expect(pace.batch()).toBe(1);
    expect(rests.at(-1)).toBeGreaterThanOrEqual(100);
    for (let at = 0; at < 10; at += 1) await round(10);
    expect(pace.batch()).toBeGreaterThan(4);
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
