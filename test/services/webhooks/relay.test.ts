import { uuidv7 } from "uuidv7";
import { beforeAll, expect, it } from "vitest";
import { advanceReplays, relayEvents } from "../../../src/services/webhooks/start-webhooks.ts";
import { insertDeliveries, purgeDeliveries } from "../../../src/stores/webhooks/deliveries.ts";
import { insertEvent } from "../../../src/stores/outbox.ts";
import { purgeEvents } from "../../../src/stores/webhooks/outbox.ts";
import { insertReplay } from "../../../src/stores/webhooks/replays.ts";
import { buildTenant, ownDatabase, putSubscription } from "../../stores/rows.ts";

const own = ownDatabase();

interface Party {
  readonly org_id: string;
  readonly subscription_id: string;
}

let [mine, theirs]: Party[] = [];
beforeAll(async () => {
  [mine, theirs] = await Promise.all([party(), party()]);
});

async function party(): Promise<Party> {
  const { org_id } = await buildTenant(own.database);
  const subscription_id = uuidv7();
  await own.database.org(org_id, (db) => putSubscription(db, org_id, subscription_id));
  return { org_id, subscription_id };
}

function write({ org_id }: Party, event_id = uuidv7(), relayed = false): Promise<string> {
  const event = { event_id, org_id, type: "skill.version.created", data: {} } as const;
  return own.database.org(org_id, (db) => insertEvent(db, event, relayed)).then(() => event_id);
}

const rows = <Row extends object>(statement: string): Promise<Row[]> =>
  own.database.system((db) => db.query<Row & Record<string, unknown>>(statement));

const deliveryOf = ({ org_id, subscription_id }: Party, event_id: string) => ({
  delivery_id: uuidv7(),
  org_id,
  subscription_id,
  event_id,
  event_type: "skill.version.created",
});

it("events of two organisations in one batch go only to their own webhooks", async () => {
  if (!mine || !theirs) return expect.fail();
  const parties = [mine, theirs, mine, theirs];
  const ids: string[] = [];
  for (const each of parties) ids.push(await write(each));
  expect(await relayEvents(own.database)).toBe(false);
  expect(
    await rows("select event_id, subscription_id, org_id from webhook_deliveries order by event_id, subscription_id"),
  ).toEqual(parties.map(({ org_id, subscription_id }, at) => ({ event_id: ids[at], subscription_id, org_id })));
  expect(await rows("select 1 from outbox where relayed_at is null")).toEqual([]);
});

it("cross-tenant: the database refuses a delivery whose event or webhook is another organisation's", async () => {
  if (!mine || !theirs) return expect.fail();
  const [ours, others] = [await write(mine), await write(theirs)];
  const mixtures = [
    { ...deliveryOf(mine, others) },
    { ...deliveryOf(mine, ours), subscription_id: theirs.subscription_id },
    { ...deliveryOf(theirs, others), org_id: mine.org_id },
  ];
  for (const mixture of mixtures)
    await expect(own.database.system((db) => insertDeliveries(db, [mixture]))).rejects.toMatchObject({ code: "23503" });
  await relayEvents(own.database);
});

it("an expired event is kept as long as it has deliveries", async () => {
  const other = await party();
  /** An ID with a very old timestamp. */
  const ancient = (): string => `0000${uuidv7().slice(4)}`;
  const [bare, delivered, waiting] = [ancient(), ancient(), ancient()];
  for (const id of [bare, delivered]) await write(other, id, true);
  await write(other, waiting);
  const recent = await write(other, uuidv7(), true);
  await own.database.system((db) => insertDeliveries(db, [deliveryOf(other, delivered)]));
  const left = async (): Promise<string[]> =>
    (await rows<{ event_id: string }>(`select event_id from outbox where org_id = '${other.org_id}' order by 1`)).map(
      ({ event_id }) => event_id,
    );
  await own.database.system((db) => purgeEvents(db, 60_000, 100));
  expect(await left()).toEqual([delivered, waiting, recent].toSorted());
  await rows("update webhook_deliveries set status = 'delivered', next_attempt_at = null, created_at = '2020-01-01'");
  await own.database.system((db) => purgeDeliveries(db, 60_000, 100));
  await own.database.system((db) => purgeEvents(db, 60_000, 100));
  expect(await left()).toEqual([waiting, recent].toSorted());
});

it("the relay skips events older than the webhook, and continues after a full batch", async () => {
  const { org_id, subscription_id } = await party();
  const later = { org_id, subscription_id: uuidv7() };
  await own.database.org(org_id, async (db) => {
    for (let n = 0; n < 501; n += 1)
      await insertEvent(db, { event_id: uuidv7(), org_id, type: "skill.version.created", project_id: null, data: {} });
    await putSubscription(db, org_id, later.subscription_id);
    // Timestamps have milliseconds, so the last event may have the same one as the webhook.
    await db.query(
      "update webhook_subscriptions set created_at = created_at + interval '1 ms' where subscription_id = $1",
      [later.subscription_id],
    );
  });
  // Returns true while more events remain.
  while (await relayEvents(own.database));
  const counts = await rows<{ subscription_id: string; n: number }>(
    `select subscription_id, count(*)::integer as n from webhook_deliveries where org_id = '${org_id}' group by 1`,
  );
  expect(counts).toEqual([{ subscription_id, n: 501 }]);
});

it("a replay sends only the events of its patterns, and ends when its webhook is disabled", async () => {
  const { org_id, subscription_id } = await party();
  const order = async (events: readonly string[]): Promise<string> => {
    const [since, until] = ["2020-01-01T00:00:00.000Z", "2040-01-01T00:00:00.000Z"];
    const replay = { replay_id: uuidv7(), org_id, subscription_id, since, until, events, only_failed: false };
    await own.database.org(org_id, (db) => insertReplay(db, replay));
    return replay.replay_id;
  };
  const replayed = async (id: string): Promise<unknown> => {
    while (await advanceReplays(own.database));
    const [row] = await rows(
      `select queued, finished_at is not null as finished from webhook_replays where replay_id = '${id}'`,
    );
    return row;
  };
  await own.database.org(org_id, async (db) => {
    for (const type of ["skill.version.created", "connection.error", "skill.version.created"] as const)
      await insertEvent(db, { event_id: uuidv7(), org_id, type, project_id: null, data: {} }, true);
  });
  expect(await replayed(await order(["connection.*"]))).toEqual({ queued: 1, finished: true });
  expect(await rows(`select event_type from webhook_deliveries where org_id = '${org_id}'`)).toEqual([
    { event_type: "connection.error" },
  ]);
  const late = await order(["*"]);
  await rows(
    `update webhook_subscriptions set status = 'disabled', disabled_reason = 'manual' where org_id = '${org_id}'`,
  );
  expect(await replayed(late)).toEqual({ queued: 0, finished: true });
});
