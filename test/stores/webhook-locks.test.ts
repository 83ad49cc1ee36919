import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import type { DeliveryVerdict } from "../../src/domain/webhooks/webhook.ts";
import { claimDeliveries, recordAttempts } from "../../src/stores/webhooks/attempts.ts";
import { insertDeliveries, requeueDeliveries, retryDelivery } from "../../src/stores/webhooks/deliveries.ts";
import { insertEvent } from "../../src/stores/outbox.ts";
import { advanceReplay, insertReplay, takeReplay } from "../../src/stores/webhooks/replays.ts";
import {
  deleteSubscription,
  disableSubscription,
  enableSubscription,
  lockSubscription,
} from "../../src/stores/webhooks/subscriptions.ts";
import { buildTenant, ownDatabase, putSubscription } from "./rows.ts";

const own = ownDatabase();

const RESULT = {
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
const RETRYING: DeliveryVerdict = { status: "retrying", failure_reason: null, delay_ms: 60_000, hold_ms: null };
const DELIVERED: DeliveryVerdict = { status: "delivered", failure_reason: null, delay_ms: null, hold_ms: null };

// A race shows in about one round of twenty, so short runs of this file are repeated often.
const rounds = Array.from({ length: 10 }, (_, n) => n + 1);

it.each(rounds)("attempts, retries, replays, disabling and deleting never deadlock: round %i", async () => {
  const { database } = own;
  const { org_id } = await buildTenant(database);
  const subscriptions = [uuidv7(), uuidv7()];
  const [subscription_id = ""] = subscriptions;
  const deliveries = Array.from({ length: 60 }, (_, n) => ({
    delivery_id: uuidv7(),
    org_id,
    subscription_id: subscriptions[n % 2] ?? "",
    event_id: uuidv7(),
    event_type: "run.started",
  }));
  await database.orgTransaction(org_id, async (db) => {
    for (const id of subscriptions) await putSubscription(db, org_id, id);
    for (const { event_id } of deliveries)
      await insertEvent(db, { event_id, org_id, type: "run.started", project_id: null, data: {} });
    await insertDeliveries(db, deliveries);
    const [since, until] = ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"];
    const replay = { replay_id: uuidv7(), org_id, subscription_id, since, until, events: ["*"], only_failed: false };
    await insertReplay(db, replay);
  });

  let stopped = false;
  /** Repeats the work until all of it has finished. */
  const again = async (work: () => Promise<unknown>): Promise<void> => {
    while (!stopped) await work();
  };
  const attempts = async (ok: boolean, ids: readonly (typeof deliveries)[number][]): Promise<void> => {
    const attempt = { result: { ...RESULT, ok }, verdict: ok ? DELIVERED : RETRYING };
    for (let n = 0; n < 4; n++) {
      for (let at = 0; at < ids.length; at += 10) {
        const jobs = ids.slice(at, at + 10).map((each) => ({ ...each, round: n, claim: n }));
        const batch = jobs.map((job) => ({ job, ...attempt }));
        await database.system((db) => recordAttempts(db, batch));
      }
    }
  };
  const wanted = subscriptions.map((id) => ({ subscription_id: id, count: 20 }));
  const claiming = again(() => database.system((db) => claimDeliveries(db, wanted, [], 1)));
  const disabling = again(async () => {
    const event = { event_id: uuidv7(), detail: {} };
    await database.orgTransaction(org_id, async (db) => {
      if (await lockSubscription(db, subscription_id)) await disableSubscription(db, subscription_id, "manual", event);
    });
    await database.org(org_id, (db) => enableSubscription(db, subscription_id));
  });
  const replaying = again(() =>
    database.systemTransaction(async (db) => {
      const replay = await takeReplay(db);
      if (!replay) return;
      // The events already have deliveries, under other IDs.
      const mine = deliveries
        .filter((each) => each.subscription_id === subscription_id)
        .map((each) => ({ ...each, delivery_id: uuidv7() }));
      await requeueDeliveries(db, mine.toReversed(), false);
      await advanceReplay(db, replay.replay_id, { position: 1, queued: 1, finished: false });
    }),
  );
  const retrying = again(async () => {
    for (const { delivery_id } of deliveries.slice(0, 20)) {
      await database.orgTransaction(org_id, async (db) => {
        if (await lockSubscription(db, subscription_id)) await retryDelivery(db, subscription_id, delivery_id);
      });
    }
  });
  const work = Promise.all([
    attempts(false, deliveries),
    attempts(false, deliveries.toReversed()),
    attempts(true, deliveries),
  ]);
  try {
    // A deadlock shows as an error, because Postgres aborts it after a second.
    await Promise.race([work, disabling, replaying, retrying, claiming]);
    await work;
    expect(await database.orgTransaction(org_id, (db) => deleteSubscription(db, subscription_id))).toBe(true);
  } finally {
    stopped = true;
    await Promise.all([work, disabling, replaying, retrying, claiming]);
  }
  const statuses = await database.org(org_id, (db) =>
    db.query<{ status: string }>(
      "select distinct status from webhook_deliveries where status in ('pending', 'retrying') and subscription_id = $1",
      [subscription_id],
    ),
  );
  expect(statuses).toEqual([]);
});
