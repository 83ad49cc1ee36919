import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { createRecordAttempt } from "../../../src/services/webhooks/record-attempts.ts";
import { insertEvent } from "../../../src/stores/outbox.ts";
import { claimDeliveries, type AttemptRecord } from "../../../src/stores/webhooks/attempts.ts";
import { insertDeliveries } from "../../../src/stores/webhooks/deliveries.ts";
import { buildTenant, ownDatabase, putSubscription } from "../../stores/rows.ts";

const own = ownDatabase();

/** A webhook with this many claimed deliveries, and a function that records attempts of them. */
async function subscribed(deliveries: number) {
  const { org_id } = await buildTenant(own.database);
  const subscription_id = uuidv7();
  const rows = Array.from({ length: deliveries }, () => ({
    delivery_id: uuidv7(),
    org_id,
    subscription_id,
    event_id: uuidv7(),
    event_type: "run.started",
  }));
  await own.database.orgTransaction(org_id, async (db) => {
    await putSubscription(db, org_id, subscription_id);
    for (const { event_id } of rows)
      await insertEvent(db, { event_id, org_id, type: "run.started", project_id: null, data: {} }, true);
    await insertDeliveries(db, rows);
  });
  const wanted = [{ subscription_id, count: deliveries }];
  const { jobs } = await own.database.system((db) => claimDeliveries(db, wanted, [], 60_000));
  return {
    attempt: (at: number, ok: boolean, more: { url?: string } = {}): AttemptRecord => ({
      job: jobs[at] ?? expect.fail(),
      result: {
        at: new Date().toISOString(),
        duration_ms: 1,
        url: more.url ?? "https://example.test/",
        ok,
        status_code: ok ? 200 : 500,
        error_code: null,
        error_message: ok ? null : "It answered 500.",
        response_body: null,
        retry_after_ms: null,
      },
      verdict: {
        status: ok ? "delivered" : "retrying",
        failure_reason: null,
        delay_ms: ok ? null : 60_000,
        hold_ms: null,
      },
    }),
    status: async () => {
      const text = "select status, disabled_reason from webhook_subscriptions where subscription_id = $1";
      const [row] = await own.database.system((db) =>
        db.query<{ status: string; disabled_reason: string | null }>(text, [subscription_id]),
      );
      return row;
    },
    disabledBy: async () => {
      const text = "select data from outbox where org_id = $1 and type = 'webhook.subscription.disabled'";
      const events = await own.database.system((db) => db.query<{ data: Record<string, unknown> }>(text, [org_id]));
      return events.map(({ data }) => data["last_status_code"]);
    },
  };
}

it("the failure that reaches the limit disables a webhook, and none before", async () => {
  const record = createRecordAttempt({ db: own.database, disableAfterMs: 0, disableAttempts: 3 });
  const { attempt, status, disabledBy } = await subscribed(3);
  await record(attempt(0, false));
  await record(attempt(1, false));
  expect(await status()).toMatchObject({ status: "enabled" });
  await record(attempt(2, false));
  expect(await status()).toMatchObject({ status: "disabled", disabled_reason: "failing" });
  expect(await disabledBy()).toEqual([500]);
});

it("attempts recorded together count from the last success, and a success never disables", async () => {
  const record = createRecordAttempt({ db: own.database, disableAfterMs: 0, disableAttempts: 2 });
  const { attempt, status, disabledBy } = await subscribed(6);
  await Promise.all([record(attempt(0, false)), record(attempt(1, true)), record(attempt(2, false))]);
  expect(await status()).toMatchObject({ status: "enabled" });
  await Promise.all([record(attempt(3, true)), record(attempt(4, false)), record(attempt(5, false))]);
  expect(await status()).toMatchObject({ status: "disabled" });
  expect(await disabledBy()).toEqual([500]);
});

it("an attempt that cannot be stored fails without the others", async () => {
  const record = createRecordAttempt({ db: own.database, disableAfterMs: 0, disableAttempts: 9 });
  const { attempt } = await subscribed(3);
  const [first, second, third] = await Promise.allSettled([
    record(attempt(0, true)),
    record(attempt(1, true, { url: "https://example.test/\u0000" })),
    record(attempt(2, true)),
  ]);
  expect([first?.status, second?.status, third?.status]).toEqual(["fulfilled", "rejected", "fulfilled"]);
});
