import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRunWaiter, type RunWaiter } from "../../../src/services/runs/run-waiter.ts";
import { openRunFeed, type RunFeed } from "../../../src/stores/runs/run-feed.ts";
import { getSettledRun } from "../../../src/stores/runs/run-reads.ts";
import type { RunRow } from "../../../src/stores/runs/runs.ts";
import { buildRun, buildTenant, moveRun, ownDatabase, type Tenant } from "../../stores/rows.ts";

const own = ownDatabase();
let tenant: Tenant;
let feed: RunFeed;
let waiter: RunWaiter;

beforeAll(async () => {
  tenant = await buildTenant(own.database);
  feed = openRunFeed(own.database, () => undefined);
  waiter = createRunWaiter({ db: own.database, feed, lookMs: 300 });
});
afterAll(async () => {
  waiter.close();
  await feed.close();
});

const patience = (timeoutMs: number, signal = new AbortController().signal) => ({ timeoutMs, signal });
const settled = (runId: string) => (): Promise<RunRow | null> =>
  own.database.org(tenant.org_id, (db) => getSettledRun(db, runId));

/** Resolves once the feed receives messages of another feed; messages sent before it listens are lost. */
async function listens(to: RunFeed): Promise<void> {
  const probe = randomUUID();
  let heard = false;
  const unwatch = to.watch(probe, () => (heard = true));
  await expect
    .poll(() => {
      feed.changed(probe, "settled");
      return heard;
    })
    .toBe(true);
  unwatch();
}

describe("a run waiter", () => {
  it("returns immediately if the condition already holds", async () => {
    const runId = await buildRun(own.database, tenant);
    await moveRun(own.database, tenant, runId, "RUNNING", "COMPLETED");
    expect(await waiter.until(runId, settled(runId), patience(0))).toMatchObject({ state: "COMPLETED" });
  });

  it("returns on a notification of the feed, long before the next poll", async () => {
    const runId = await buildRun(own.database, tenant);
    const slow = createRunWaiter({ db: own.database, feed, lookMs: 60_000 });
    const wait = slow.until(runId, settled(runId), patience(60_000));
    await delay(30);
    await moveRun(own.database, tenant, runId, "RUNNING", "COMPLETED");
    const notified = Date.now();
    feed.changed(runId, "progress");
    expect(await wait).toMatchObject({ state: "COMPLETED" });
    expect(Date.now() - notified).toBeLessThan(30_000);
    slow.close();
  });

  it("is notified by another process' feed as well", async () => {
    const other = openRunFeed(own.database, () => undefined);
    await listens(other);
    const slow = createRunWaiter({ db: own.database, feed, lookMs: 60_000 });
    const runId = await buildRun(own.database, tenant);
    const wait = slow.until(runId, settled(runId), patience(60_000));
    await moveRun(own.database, tenant, runId, "RUNNING", "FAILED");
    // The other process learns of the watcher with a delay, and sends no progress until then.
    const hints = setInterval(() => other.changed(runId, "progress"), 20);
    expect(await wait).toMatchObject({ state: "FAILED" });
    clearInterval(hints);
    slow.close();
    await other.close();
  });

  it("sends no queries while waiting for a run to finish, whichever process finishes it", async () => {
    const other = openRunFeed(own.database, () => undefined);
    await listens(other);
    const slow = createRunWaiter({ db: own.database, feed, lookMs: 60_000 });
    const runId = await buildRun(own.database, tenant);
    let asked = 0;
    const read = (): Promise<RunRow | null> => {
      asked += 1;
      return settled(runId)();
    };
    const wait = slow.until(runId, read, { ...patience(60_000), untilSettled: true });
    const watched: string[] = [];
    const unwatch = feed.watch(runId, (change) => watched.push(change));
    feed.changed(runId, "progress");
    await expect
      .poll(() => {
        other.changed(runId, "progress");
        return watched.length;
      })
      .toBeGreaterThan(1);
    expect(asked).toBe(1);
    await moveRun(own.database, tenant, runId, "RUNNING", "COMPLETED");
    other.changed(runId, "settled");
    expect(await wait).toMatchObject({ state: "COMPLETED" });
    expect(asked).toBe(2);
    unwatch();
    slow.close();
    await other.close();
  });

  it("returns the row that this process has just written, without a query", async () => {
    const slow = createRunWaiter({ db: own.database, feed, lookMs: 60_000 });
    const runId = await buildRun(own.database, tenant);
    const wait = slow.until(runId, async (written) => written ?? null, {
      ...patience(60_000),
      justStarted: true,
      untilSettled: true,
    });
    await moveRun(own.database, tenant, runId, "RUNNING", "COMPLETED");
    const row = await own.database.org(tenant.org_id, (db) => getSettledRun(db, runId));
    feed.changed(runId, "settled", row ?? undefined);
    expect(await wait).toBe(row);
    slow.close();
  });

  it("sends no message for a run watched only here, and one for a run watched elsewhere", async () => {
    const messages: string[] = [];
    let isListening = false;
    const listener = own.database.listen(
      "millrace_runs",
      (payload) => messages.push(payload),
      () => (isListening = true),
    );
    const [alone, shared] = [await buildRun(own.database, tenant), await buildRun(own.database, tenant)];
    const about = (runId: string): number => messages.filter((each) => each.includes(runId)).length;
    await expect.poll(() => isListening).toBe(true);
    const unwatch = [feed.watch(alone, () => undefined, true), feed.watch(shared, () => undefined, true)];
    const other = openRunFeed(own.database, () => undefined);
    other.watch(shared, () => undefined);
    // The first message comes from the other process; the second announces this process's watcher.
    await expect.poll(() => about(shared)).toBe(2);
    feed.changed(alone, "progress");
    feed.changed(alone, "settled");
    feed.changed(shared, "settled");
    await expect.poll(() => about(shared)).toBe(3);
    expect(about(alone)).toBe(0);
    for (const each of unwatch) each();
    await Promise.all([other.close(), listener.close()]);
  });

  it("finds a change without a notification", async () => {
    const runId = await buildRun(own.database, tenant);
    const wait = waiter.until(runId, settled(runId), patience(60_000));
    await moveRun(own.database, tenant, runId, "RUNNING", "COMPLETED");
    expect(await wait).toMatchObject({ state: "COMPLETED" });
  });

  it("returns null when the time is up", async () => {
    const runId = await buildRun(own.database, tenant);
    const start = Date.now();
    expect(await waiter.until(runId, settled(runId), patience(150))).toBeNull();
    expect(Date.now() - start).toBeGreaterThanOrEqual(149);
  });

  it("stops immediately when the client disconnects", async () => {
    const runId = await buildRun(own.database, tenant);
    const gone = new AbortController();
    const wait = waiter.until(runId, settled(runId), patience(60_000, gone.signal));
    setTimeout(() => gone.abort(new Error("gone")), 20);
    await expect(wait).rejects.toThrow("gone");
    await expect(waiter.until(runId, settled(runId), patience(60_000, gone.signal))).rejects.toThrow("gone");
  });

  it("ends all waiting calls when the process is about to stop, and accepts none from then on", async () => {
    const runId = await buildRun(own.database, tenant);
    const stopping = createRunWaiter({ db: own.database, feed, lookMs: 60_000 });
    const waits = [
      stopping.until(runId, settled(runId), patience(60_000)),
      stopping.until(runId, settled(runId), patience(60_000)),
    ];
    await delay(50);
    stopping.close();
    expect(await Promise.all(waits)).toEqual([null, null]);
    expect(await stopping.until(runId, settled(runId), patience(60_000))).toBeNull();
    await moveRun(own.database, tenant, runId, "RUNNING", "COMPLETED");
    expect(await stopping.until(runId, settled(runId), patience(60_000))).toMatchObject({ state: "COMPLETED" });
  });

  it("queries again only once for all changes that arrive during a query", async () => {
    const runId = await buildRun(own.database, tenant);
    let asked = 0;
    const read = async (): Promise<number | null> => {
      asked += 1;
      await delay(50);
      return asked === 3 ? asked : null;
    };
    const slow = createRunWaiter({ db: own.database, feed, lookMs: 60_000 });
    const wait = slow.until(runId, read, patience(5000));
    for (let i = 0; i < 100; i++) feed.changed(runId, "progress");
    await expect.poll(() => asked).toBe(2);
    await delay(200);
    expect(asked).toBe(2);
    feed.changed(runId, "progress");
    expect(await wait).toBe(3);
    slow.close();
  });

  it("survives a short outage of the database, but not a long one", async () => {
    const runId = await buildRun(own.database, tenant);
    const away = Object.assign(new Error("terminating connection"), { code: "57P01" });
    let failures = 2;
    const read = async (): Promise<string | null> => {
      if (failures-- > 0) throw away;
      return "back";
    };
    const hints = setInterval(() => feed.changed(runId, "progress"), 50);
    expect(await waiter.until(runId, read, patience(5000))).toBe("back");
    clearInterval(hints);
    await expect(waiter.until(runId, () => Promise.reject(away), patience(100))).rejects.toBe(away);
    await expect(waiter.until(runId, () => Promise.reject(new Error("a mistake")), patience(5000))).rejects.toThrow(
      "a mistake",
    );
  });

  it("serves a thousand waiting calls with few queries", async () => {
    const runId = await buildRun(own.database, tenant);
    let asked = 0;
    const read = (): Promise<RunRow | null> => {
      asked += 1;
      return settled(runId)();
    };
    const waits = Array.from({ length: 300 }, () => waiter.until(runId, read, patience(60_000)));
    await delay(1200);
    // Each waiter asks once at the start and at most once at its first check; after that, only the shared waiter asks.
    expect(asked).toBeLessThanOrEqual(600);
    await moveRun(own.database, tenant, runId, "RUNNING", "COMPLETED");
    const rows = await Promise.all(waits);
    expect(rows.every((row) => row?.state === "COMPLETED")).toBe(true);
  });
});
