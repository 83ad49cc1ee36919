import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import {
  claimDeliveries,
  dueSubscriptions,
  recordAttempts,
  type AfterAttempt,
  type AttemptRecord,
  type ClaimedDeliveries,
  type DeliveryJob,
} from "../../src/stores/webhooks/attempts.ts";
import { insertDeliveries, requeueDeliveries, retryDelivery } from "../../src/stores/webhooks/deliveries.ts";
import { insertEvent } from "../../src/stores/outbox.ts";
import { shardOf } from "../../src/domain/webhooks/shards.ts";
import { buildTenant, ownDatabase, putSubscription } from "./rows.ts";

const own = ownDatabase();
const MINUTE_MS = 60_000;

/** A webhook with deliveries that became due this many seconds ago; a negative number is in the future. */
async function subscribed(...secondsAgo: number[]) {
  const { org_id } = await buildTenant(own.database);
  const subscription_id = uuidv7();
  const ids = secondsAgo.map(() => uuidv7());
  const deliveries = ids.map((delivery_id) => ({
    delivery_id,
    org_id,
    subscription_id,
    event_id: uuidv7(),
    event_type: "run.started",
  }));
  await own.database.orgTransaction(org_id, async (db) => {
    await putSubscription(db, org_id, subscription_id);
    for (const { event_id } of deliveries)
      await insertEvent(db, { event_id, org_id, type: "run.started", project_id: null, data: { n: 1 } }, true);
    await insertDeliveries(db, deliveries);
  });
  for (const [at, seconds] of secondsAgo.entries())
    await change(`update webhook_deliveries set next_attempt_at = now() - make_interval(secs => ${seconds})
      where delivery_id = '${ids[at]}'`);
  return {
    subscription_id,
    deliveries,
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
/** An attempt whose receiver, if it failed, asks to get nothing for this long. */
function attempt(job: DeliveryJob | undefined, ok: boolean, hold_ms: number | null = null): AttemptRecord {
  const made = { at: new Date().toISOString(), duration_ms: 1, url: "", ok, status_code: ok ? 200 : 500 };
  const result = { ...made, error_code: null, error_message: null, response_body: null, retry_after_ms: null };
  const status = ok ? "delivered" : "retrying";
  const verdict = { status, failure_reason: null, delay_ms: ok ? null : MINUTE_MS, hold_ms } as const;
  return { job: job ?? expect.fail(), result, verdict };
}
async function record(...attempts: AttemptRecord[]): Promise<AfterAttempt> {
  const [after] = await own.database.system((db) => recordAttempts(db, attempts));
  return after ?? expect.fail();
}
const idsOf = ({ jobs }: ClaimedDeliveries): string[] => jobs.map(({ delivery_id }) => delivery_id);

it("the delivery that has been due longest is claimed first, and none that is not due", async () => {
  const { ids, claim } = await subscribed(10, 30, 20, -60);
  const [ten, thirty, twenty] = ids;
  expect(idsOf(await claim(1))).toEqual([thirty]);
  expect(idsOf(await claim(1))).toEqual([twenty]);
  const last = await claim(5);
  expect(idsOf(last)).toEqual([ten]);
  // The next due delivery is the one in the future, because the claimed ones stay claimed until then.
  expect(last.subscriptions[0]?.due_in_ms).toBeGreaterThan(50_000);
  expect(idsOf(await claim(5))).toEqual([]);
});

it("each claim of a delivery has a new number, and a claim skips deliveries already in flight in this process", async () => {
  const { ids, claim } = await subscribed(20, 10);
  const [first] = (await claim(1)).jobs;
  expect([first?.delivery_id, first?.claim, first?.tries, first?.event.data]).toEqual([ids[0], 1, 0, { n: 1 }]);
  await change(`update webhook_deliveries set next_attempt_at = now() where delivery_id = '${ids[0]}'`);
  expect(idsOf(await claim(5, [ids[0] ?? ""]))).toEqual([ids[1]]);
  expect((await claim(5)).jobs.map(({ delivery_id, claim: which }) => [delivery_id, which])).toEqual([[ids[0], 2]]);
});

it("the previous secret signs until its time is over", async () => {
  const { claim, change: alter } = await subscribed(20, 10);
  const signing = async (until: string): Promise<unknown> => {
    await alter(`previous_secret = 'old', previous_secret_until = now() + interval '${until}'`);
    return (await claim(1)).jobs[0]?.previous_secret;
  };
  expect([await signing("1 minute"), await signing("-1 second")]).toEqual([Buffer.from("old"), null]);
});

it("nothing is claimed while a receiver asks for a pause, or for a disabled webhook", async () => {
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

it("a pause that a receiver asks for outlasts the failures of deliveries already in flight", async () => {
  const { claim, due } = await subscribed(30, 20, 10);
  const { jobs } = await claim(2);
  await record(attempt(jobs[0], false, MINUTE_MS));
  await record(attempt(jobs[1], false));
  expect((await due())?.due_in_ms).toBeGreaterThan(50_000);
});

it("a redelivery has all its attempts, and a late result from before it changes nothing", async () => {
  const { deliveries, claim } = await subscribed(10);
  const { org_id, subscription_id, delivery_id } = deliveries[0] ?? expect.fail();
  const claimOne = async (): Promise<DeliveryJob> => (await claim(1)).jobs[0] ?? expect.fail();
  const set = (to: string) => change(`update webhook_deliveries set ${to} where delivery_id = '${delivery_id}'`);
  await record(attempt(await claimOne(), false));
  await set("next_attempt_at = now()");
  const second = await claimOne();
  await own.database.orgTransaction(org_id, (db) => retryDelivery(db, subscription_id, delivery_id));
  const early = await record(attempt(second, false));
  const third = await claimOne();
  // A replay of a failed delivery whose attempt is still in flight.
  await set("status = 'failed', failure_reason = 'attempts_exhausted', next_attempt_at = null, finished_at = now()");
  const again = await own.database.orgTransaction(org_id, (db) => requeueDeliveries(db, deliveries, true));
  const late = await record(attempt(third, false));
  expect([second.tries, early.applied, third.tries, again, late.applied]).toEqual([1, false, 0, 1, false]);
});

it("a webhook is due only in the shard of its ID", async () => {
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

it("a webhook fails since its first failure after a success, and the failures since then count", async () => {
  const { claim, change: alter } = await subscribed(30, 20, 10, 5, 1);
  const { jobs } = await claim(5);
  expect(await record(attempt(jobs[0], false))).toMatchObject({ applied: true, failed_attempts: 1 });
  await alter("failing_since = now() - interval '1 hour'");
  const second = await record(attempt(jobs[1], false));
  expect(second.failed_attempts).toBe(2);
  expect(second.failing_ms).toBeGreaterThan(3_500_000);
  // Only the failure that came after the success of the batch counts.
  const both = await record(attempt(jobs[2], true), attempt(jobs[3], false));
  expect(both.failed_attempts).toBe(1);
  expect(both.failing_ms).toBeLessThan(MINUTE_MS);
  expect(await record(attempt(jobs[4], true))).toMatchObject({ failed_attempts: 0, failing_ms: null });
});
