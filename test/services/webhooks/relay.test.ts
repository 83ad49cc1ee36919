import { uuidv7 } from "uuidv7";
import { beforeAll, expect, it } from "vitest";
import { relayEvents } from "../../../src/services/webhooks/relay.ts";
import { insertDeliveries, purgeDeliveries } from "../../../src/stores/webhooks/deliveries.ts";
import { insertEvent, purgeEvents } from "../../../src/stores/webhooks/outbox.ts";
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
  const event = { event_id, org_id, type: "skill.version.created", project_id: null, data: {} };
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

it("events of two organisations in one batch go to the subscriptions of their own", async () => {
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

it("cross-tenant: the database refuses a delivery whose event or subscription is another organisation's", async () => {
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

it("an event past its retention stays as long as it has deliveries", async () => {
  const other = await party();
  /** An id of long ago. */
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
