import { uuidv7 } from "uuidv7";
import { beforeAll, describe, expect, it } from "vitest";
import { getRun, requestCancel } from "../../src/stores/runs/runs.ts";
import { recordRun } from "../../src/stores/runs/run-record.ts";
import { recordAttempts } from "../../src/stores/webhooks/attempts.ts";
import {
  findDelivery,
  insertDeliveries,
  listAttempts,
  listDeliveries,
  retryDelivery,
} from "../../src/stores/webhooks/deliveries.ts";
import { countOthers } from "../../src/stores/count-others.ts";
import { insertEvent } from "../../src/stores/outbox.ts";
import { insertReplay } from "../../src/stores/webhooks/replays.ts";
import {
  deleteSubscription,
  disableSubscription,
  enableSubscription,
  findSubscription,
  listSubscriptions,
  lockSubscription,
  rotateSecret,
  rotatedSecret,
  updateSubscription,
} from "../../src/stores/webhooks/subscriptions.ts";
import { buildRun, buildTenant, ownDatabase, pauseOpening, putSubscription, update, type Tenant } from "./rows.ts";

const own = ownDatabase();
let mine: Tenant;
let theirs: Tenant;
let theirRun: string;
let theirWebhook: Webhook;

beforeAll(async () => {
  mine = await buildTenant(own.database);
  theirs = await buildTenant(own.database);
  await buildRun(own.database, mine, { tags: ["t"] });
  theirRun = await buildRun(own.database, theirs, { tags: ["t"] });
  await own.database.org(theirs.org_id, (db) =>
    recordRun(
      db,
      update(theirs, theirRun, {
        nodes: [
          {
            node_id: "in-0",
            type: "input",
            path: "in-0",
            state: "COMPLETED",
            attempts: 1,
            started_at: null,
            finished_at: null,
          },
        ],
        pauses_opened: [pauseOpening()],
      }),
      [],
    ),
  );
  await buildWebhook(mine);
  theirWebhook = await buildWebhook(theirs);
});

interface Webhook {
  readonly subscription_id: string;
  readonly delivery_id: string;
}

const FAILED = {
  at: new Date().toISOString(),
  duration_ms: 1,
  url: "https://example.test/",
  ok: false,
  status_code: 500,
  error_code: "bad_status",
  error_message: "The receiver answered 500.",
  response_body: null,
  retry_after_ms: null,
};
const RETRYING = { status: "retrying", failure_reason: null, delay_ms: 60_000, hold_ms: null } as const;

/** A webhook with a delivery that has failed once, and a replay in progress. */
async function buildWebhook({ org_id }: Tenant): Promise<Webhook> {
  const [subscription_id, delivery_id, event_id] = [uuidv7(), uuidv7(), uuidv7()];
  await own.database.orgTransaction(org_id, async (db) => {
    await putSubscription(db, org_id, subscription_id);
    await insertEvent(db, { event_id, org_id, type: "run.started", project_id: null, data: {} });
    await insertDeliveries(db, [{ delivery_id, org_id, subscription_id, event_id, event_type: "run.started" }]);
    const job = { delivery_id, subscription_id, round: 1, claim: 0 };
    await recordAttempts(db, [{ job, result: FAILED, verdict: RETRYING }]);
    const [since, until] = ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"];
    const replay = { replay_id: uuidv7(), org_id, subscription_id, since, until, events: ["*"], only_failed: false };
    await insertReplay(db, replay);
  });
  return { subscription_id, delivery_id };
}

/** The tables with row-level security, from the catalogue; partitions are accessed through their tables. */
async function guarded(partitions = false): Promise<string[]> {
  const rows = await own.database.system((db) =>
    db.query<{ name: string }>(
      "select relname as name from pg_class where relrowsecurity and relkind in ('r', 'p') and ($1 or not relispartition) order by 1",
      [partitions],
    ),
  );
  return rows.map((row) => row.name);
}

/** Tables whose rows have no organisation of their own; the index they belong to has it. */
const THROUGH_INDEX = ["knowledge_postings"];

describe("cross-tenant: row-level security", () => {
  it("guards every table with data of an organisation", async () => {
    const rows = await own.database.system((db) =>
      db.query<{ name: string }>(
        "select table_name as name from information_schema.columns where column_name = 'org_id' and table_schema = current_schema() order by 1",
      ),
    );
    expect(await guarded(true)).toEqual([...rows.map((row) => row.name), ...THROUGH_INDEX].toSorted());
  });

  it("shows a query without a filter only the organisation's own rows", async () => {
    for (const table of (await guarded()).filter((name) => !THROUGH_INDEX.includes(name))) {
      const rows = await own.database.org(mine.org_id, (db) =>
        db.query<{ org_id: string }>(`select org_id from ${table}`),
      );
      expect({ table, foreign: rows.some((row) => row.org_id === theirs.org_id) }).toEqual({ table, foreign: false });
    }
    const runs = await own.database.org(mine.org_id, (db) => db.query("select 1 from runs"));
    expect(runs).toHaveLength(1);
  });

  it("shows nothing to a connection that has not set an organisation", async () => {
    await expect(own.database.org("", async () => undefined)).rejects.toThrow("must be a UUID");
    await expect(own.database.org("' or true --", async () => undefined)).rejects.toThrow("must be a UUID");
    const nobody = uuidv7();
    for (const table of await guarded())
      expect(await own.database.org(nobody, (db) => db.query(`select 1 from ${table}`))).toEqual([]);
  });

  it("refuses rows for another organisation", async () => {
    await expect(
      own.database.org(mine.org_id, (db) =>
        db.query("insert into projects (project_id, org_id, name) values ($1, $2, 'x')", [uuidv7(), theirs.org_id]),
      ),
    ).rejects.toMatchObject({ code: "42501" });
    await expect(
      own.database.org(mine.org_id, (db) => db.query("update runs set org_id = $1", [theirs.org_id])),
    ).rejects.toMatchObject({ code: "42501" });
  });

  it("changes no rows of another organisation, by ID or in bulk", async () => {
    await own.database.org(mine.org_id, async (db) => {
      expect(await getRun(db, theirRun)).toBeNull();
      expect(await requestCancel(db, theirRun, null)).toBeNull();
      expect(await recordRun(db, update(mine, theirRun, { state: "FAILED" }), [])).toBeNull();
      await db.query("update runs set user_id = 'taken'");
      await db.query("delete from node_runs");
    });
    const row = await own.database.org(theirs.org_id, (db) => getRun(db, theirRun));
    expect(row).toMatchObject({ state: "RUNNING", user_id: null, cancel_requested: null });
    expect(await own.database.org(theirs.org_id, (db) => db.query("select 1 from node_runs"))).toHaveLength(1);
  });

  it("finds and changes no webhook of another organisation, by ID or in bulk", async () => {
    const { subscription_id: id, delivery_id } = theirWebhook;
    const rows = (): Promise<unknown[][]> =>
      own.database.org(theirs.org_id, async (db) => {
        const found: unknown[][] = [];
        for (const name of ["subscriptions", "deliveries", "attempts", "replays"])
          found.push(await db.query(`select * from webhook_${name}`));
        return found;
      });
    const before = await rows();
    expect(before.map((each) => each.length)).toEqual([1, 1, 1, 1]);
    const page = { beyond: null, ascending: true, limit: 10 };
    const everything = { status: null, event_type: null, event_id: null, since: null };
    await own.database.orgTransaction(mine.org_id, async (db) => {
      expect(await findSubscription(db, id)).toBeNull();
      expect(await lockSubscription(db, id)).toBeNull();
      expect(await listSubscriptions(db, {}, page)).toHaveLength(1);
      expect(await countOthers(db, "webhook_subscriptions", uuidv7())).toBe(1);
      expect(await updateSubscription(db, id, { description: "taken" })).toBeNull();
      expect(await disableSubscription(db, id, "manual", { event_id: uuidv7(), detail: {} })).toBe(false);
      expect(await enableSubscription(db, id)).toBeNull();
      expect(await rotateSecret(db, id, uuidv7(), Buffer.from("mine"), 1000)).toBeNull();
      expect(await rotatedSecret(db, id, uuidv7())).toBeNull();
      expect(await deleteSubscription(db, id)).toBe(false);
      expect(await findDelivery(db, id, delivery_id)).toBeNull();
      expect(await listDeliveries(db, id, everything, page)).toEqual([]);
      expect(await listAttempts(db, delivery_id)).toEqual([]);
      expect(await retryDelivery(db, id, delivery_id)).toBeNull();
      const job = { delivery_id, subscription_id: id, round: 1, claim: 0 };
      expect(await recordAttempts(db, [{ job, result: FAILED, verdict: RETRYING }])).toEqual([]);
      await db.query("update webhook_subscriptions set url = 'https://taken.test/'");
      await db.query("update webhook_deliveries set status = 'failed', next_attempt_at = null");
      await db.query("delete from webhook_attempts");
      await db.query("delete from webhook_replays");
    });
    expect(await rows()).toEqual(before);
  });

  it("does not pass one connection's organisation to its next user", async () => {
    const seen = await Promise.all(
      Array.from({ length: 40 }, (_, i) => {
        const tenant = i % 2 === 0 ? mine : theirs;
        return own.database
          .orgTransaction(tenant.org_id, (db) => db.query<{ org_id: string }>("select org_id from runs"))
          .then((rows) => rows.every((row) => row.org_id === tenant.org_id));
      }),
    );
    expect(seen.every(Boolean)).toBe(true);
  });
});
