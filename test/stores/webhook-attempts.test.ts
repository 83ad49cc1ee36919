import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { claimDeliveries, dueSubscriptions, recordAttempts } from "../../src/stores/webhooks/attempts.ts";
import type { ClaimedDeliveries } from "../../src/stores/webhooks/attempts.ts";
import { insertDeliveries } from "../../src/stores/webhooks/deliveries.ts";
import { insertEvent } from "../../src/stores/outbox.ts";
import { shardOf } from "../../src/domain/webhooks/shards.ts";
import { buildTenant, ownDatabase, putSubscription } from "./rows.ts";

const own = ownDatabase();
const MINUTE_MS = 60_000;

/** A subscription with deliveries that became due so many seconds ago; a negative number is still to come. */
async function subscribed(...secondsAgo: number[]) {
  const { org_id } = await buildTenant(own.database);
  const subscription_id = uuidv7();
  const ids = secondsAgo.map(() => uuidv7());
  await own.database.orgTransaction(org_id, async (db) => {
    await putSubscription(db, org_id, subscription_id);
    const deliveries = ids.map((delivery_id) => ({
      delivery_id,
      org_id,
      subscription_id,
      event_id: uuidv7(),
      event_type: "run.started",
    }));
    for (const { event_id } of deliveries)
      await insertEvent(db, { event_id, org_id, type: "run.started", project_id: null, data: { n: 1 } }, true);
    await insertDeliveries(db, deliveries);
  });
  for (const [at, seconds] of secondsAgo.entries())
    await change(`update webhook_deliveries set next_attempt_at = now() - make_interval(secs => ${seconds})
      where delivery_id = '${ids[at]}'`);
  return {
    subscription_id,
    ids,
    claim: (count: number, underWay: readonly string[] = []): Promise<ClaimedDeliveries> =>
      own.database.system((db) => claimDeliveries(db, [{ subscription_id, count }], underWay, MINUTE_MS)),
    change: (set: string) =>
      change(`update webhook_subscriptions set ${set} where subscription_id = '${subscription_id}'`),
    due: async () => {
      const due = await own.database.system((db) => dueSubscriptions(db, { count: 1, own: [0] }));
      return due.find((each) => each.subscription_id === subscription_id);
    },
  };
}

const change = (statement: string): Promise<unknown> => own.database.system((db) => db.query(statement));
const idsOf = ({ jobs }: ClaimedDeliveries): string[] => jobs.map(({ delivery_id }) => delivery_id);

it("what has been due for the longest is claimed first, and nothing that is not due", async () => {
  const { ids, claim } = await subscribed(10, 30, 20, -60);
  const [ten, thirty, twenty] = ids;
  expect(idsOf(await claim(1))).toEqual([thirty]);
  expect(idsOf(await claim(1))).toEqual([twenty]);
  const last = await claim(5);
  expect(idsOf(last)).toEqual([ten]);
  // The next one is that which is still to come: the claims hold for as long.
  expect(last.subscriptions[0]?.due_in_ms).toBeGreaterThan(50_000);
  expect(idsOf(await claim(5))).toEqual([]);
});

it("each claim of an event has a new number, and a claim leaves out deliveries in flight here", async () => {
  const { ids, claim } = await subscribed(20, 10);
  const [first] = (await claim(1)).jobs;
  expect([first?.delivery_id, first?.claim, first?.tries, first?.event.data]).toEqual([ids[0], 1, 0, { n: 1 }]);
  await change(`update webhook_deliveries set next_attempt_at = now() where delivery_id = '${ids[0]}'`);
  expect(idsOf(await claim(5, [ids[0] ?? ""]))).toEqual([ids[1]]);
  expect((await claim(5)).jobs.map(({ delivery_id, claim: which }) => [delivery_id, which])).toEqual([[ids[0], 2]]);
});

it("nothing is claimed while a receiver wants to be left alone, nor of a subscription that is disabled", async () => {
  const { claim, change: alter, due } = await subscribed(10);
  await alter("hold_until = now() + interval '1 minute'");
  expect(idsOf(await claim(5))).toEqual([]);
  expect((await due())?.due_in_ms).toBeGreaterThan(50_000);
  await alter("hold_until = null, status = 'disabled', disabled_reason = 'manual'");
  expect([idsOf(await claim(5)), await due()]).toEqual([[], undefined]);
  await alter("status = 'enabled', disabled_reason = null, failing_since = now()");
  expect(await due()).toMatchObject({ due_in_ms: 0, failing: true });
  expect((await claim(5)).jobs).toHaveLength(1);
});

it("a subscription is due in the shard that its id says, and in no other", async () => {
  const { subscription_id } = await subscribed(10);
  const shards = [0, 1, 2, 3];
  const dueIn = await Promise.all(
    shards.map(async (shard) => {
      const due = await own.database.system((db) => dueSubscriptions(db, { count: 4, own: [shard] }));
      return due.some((each) => each.subscription_id === subscription_id);
    }),
  );
  expect(dueIn).toEqual(shards.map((shard) => shard === shardOf(subscription_id, 4)));
});

it("a subscription fails since its first failure after a success, and the failures since then count", async () => {
  const { subscription_id, claim, change: alter } = await subscribed(30, 20, 10, 5, 1);
  const { jobs } = await claim(5);
  const attempt = (at: number, ok: boolean) => {
    const made = { at: new Date().toISOString(), duration_ms: 1, url: "", ok, status_code: ok ? 200 : 500 };
    const result = { ...made, error_code: null, error_message: null, response_body: null, retry_after_ms: null };
    const verdict = {
      status: ok ? ("delivered" as const) : ("retrying" as const),
      failure_reason: null,
      delay_ms: ok ? null : MINUTE_MS,
      hold_ms: null,
    };
    return { job: jobs[at] ?? expect.fail(), result, verdict };
  };
  const record = async (...attempts: ReturnType<typeof attempt>[]) => {
    const [after] = await own.database.system((db) => recordAttempts(db, attempts));
    return after ?? expect.fail(subscription_id);
  };
  expect(await record(attempt(0, false))).toMatchObject({ applied: true, failed_attempts: 1 });
  await alter("failing_since = now() - interval '1 hour'");
  const second = await record(attempt(1, false));
  expect(second.failed_attempts).toBe(2);
  expect(second.failing_ms).toBeGreaterThan(3_500_000);
  // Of a batch that failure counts which came after the success.
  const both = await record(attempt(2, true), attempt(3, false));
  expect(both.failed_attempts).toBe(1);
  expect(both.failing_ms).toBeLessThan(MINUTE_MS);
  expect(await record(attempt(4, true))).toMatchObject({ failed_attempts: 0, failing_ms: null });
});
