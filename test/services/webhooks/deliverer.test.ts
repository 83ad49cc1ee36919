import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { uuidv7 } from "uuidv7";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { shardOf } from "../../../src/domain/webhooks/shards.ts";
import { createGuardedFetch } from "../../../src/platform/fetch/guarded-fetch.ts";
import { createSecretBox } from "../../../src/platform/secrets/seal.ts";
import { createSendDelivery } from "../../../src/services/webhooks/send.ts";
import { startWebhooks, type WebhooksDeps } from "../../../src/services/webhooks/start-webhooks.ts";
import { sealSecret } from "../../../src/services/webhooks/subscription-secrets.ts";
import type { Database } from "../../../src/stores/db.ts";
import { claimDeliveries, recordAttempts } from "../../../src/stores/webhooks/attempts.ts";
import { insertDeliveries, retryDelivery } from "../../../src/stores/webhooks/deliveries.ts";
import { insertEvent } from "../../../src/stores/outbox.ts";
import { buildTenant, ownDatabase, putSubscription } from "../../stores/rows.ts";
import { eventually } from "../../support/scratch.ts";
import { startReceiver, type Receiver } from "./receiver.ts";

const SHARDS = 4;
const MINUTE_MS = 60_000;
const own = ownDatabase();
const box = createSecretBox([randomBytes(32)]);

/** The delivery part of a worker without Temporal; the test assigns shards. */
function startWorker(overrides: Partial<WebhooksDeps> = {}): ReturnType<typeof startWebhooks> {
  const guardedFetch = createGuardedFetch({ allow: ["loopback"] });
  const timeoutMs = 5000;
  const worker = startWebhooks({
    db: own.database,
    send: createSendDelivery({ guardedFetch, box, timeoutMs, publicUrl: "", version: "1", onFault: expect.fail }),
    startShard: () => Promise.resolve(),
    shards: SHARDS,
    schedule: [0, 100],
    timeoutMs,
    disableAfterMs: MINUTE_MS,
    disableAttempts: 100,
    // Events must be found by notification; these tests must not depend on polling.
    pollMs: MINUTE_MS,
    ensureMs: MINUTE_MS,
    totalSlots: 50,
    slotsPerSubscription: 10,
    onError: expect.fail,
    ...overrides,
  });
  onTestFinished(async () => {
    await worker.close(0);
    await guardedFetch.close();
  });
  return worker;
}

interface Subscribed {
  readonly receiver: Receiver;
  readonly org_id: string;
  readonly subscription_id: string;
  /** Queues deliveries of this many events; returns their IDs. */
  queue(count: number): Promise<string[]>;
}

async function subscribed(shard = 0): Promise<Subscribed> {
  const receiver = await startReceiver();
  const { org_id } = await buildTenant(own.database);
  let subscription_id = uuidv7();
  while (shardOf(subscription_id, SHARDS) !== shard) subscription_id = uuidv7();
  const secret = sealSecret(box, subscription_id, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  await own.database.org(org_id, (db) => putSubscription(db, org_id, subscription_id, { url: receiver.url, secret }));
  return {
    receiver,
    org_id,
    subscription_id,
    queue: (count) =>
      own.database.orgTransaction(org_id, async (db) => {
        const event_type = "skill.version.created";
        const made = Array.from({ length: count }, () => ({ delivery_id: uuidv7(), event_id: uuidv7() }));
        for (const { event_id } of made)
          await insertEvent(db, { event_id, org_id, type: event_type, project_id: null, data: {} }, true);
        await insertDeliveries(
          db,
          made.map((each) => ({ ...each, org_id, subscription_id, event_type })),
        );
        return made.map(({ delivery_id }) => delivery_id);
      }),
  };
}

interface Row {
  readonly delivery_id: string;
  readonly status: string;
  readonly attempts: number;
  readonly due_in_seconds: number | null;
}

const rowsOf = ({ subscription_id }: Subscribed): Promise<Row[]> =>
  own.database.system((db) =>
    db.query<Row & Record<string, unknown>>(
      `select delivery_id, status, attempts, extract(epoch from next_attempt_at - now())::float8 as due_in_seconds
        from webhook_deliveries where subscription_id = $1::uuid order by delivery_id`,
      [subscription_id],
    ),
  );
const allDelivered = (subscription: Subscribed, count: number): Promise<boolean> =>
  eventually(`${count} are delivered`, async () => {
    const rows = await rowsOf(subscription);
    return rows.filter(({ status }) => status === "delivered").length === count;
  });

describe("the owner of a shard", () => {
  it("delivers waiting and new events of its shard and none of other shards", async () => {
    const [here, elsewhere] = await Promise.all([subscribed(1), subscribed(2)]);
    await Promise.all([here.queue(3), elsewhere.queue(1)]);
    const { deliverer } = startWorker();
    const release = deliverer.own(1);
    await allDelivered(here, 3);
    await here.queue(25);
    await allDelivered(here, 28);
    release?.();
    await here.queue(1);
    const { deliverer: next } = startWorker();
    next.own(1);
    await allDelivered(here, 29);
    expect(Math.max(...here.receiver.counts().values())).toBe(1);
    expect(elsewhere.receiver.received()).toEqual([]);
  });

  it("that is wrongly presumed dead sends nothing that another owner has claimed", async () => {
    const subscription = await subscribed();
    for (const worker of [startWorker(), startWorker()]) worker.deliverer.own(0);
    for (let n = 0; n < 10; n += 1) await subscription.queue(20);
    await allDelivered(subscription, 200);
    expect(subscription.receiver.counts().size).toBe(200);
    expect(subscription.receiver.received()).toHaveLength(200);
  });

  it("retries a claimed but unrecorded delivery when its lease ends", async () => {
    const subscription = await subscribed();
    await subscription.queue(1);
    const wanted = [{ subscription_id: subscription.subscription_id, count: 5 }];
    const claim = (ms: number) => own.database.system((db) => claimDeliveries(db, wanted, [], ms));
    const since = Date.now();
    expect((await claim(1500)).jobs).toHaveLength(1);
    expect((await claim(1500)).jobs).toEqual([]);
    startWorker().deliverer.own(0);
    await allDelivered(subscription, 1);
    expect((subscription.receiver.received()[0]?.at ?? 0) - since).toBeGreaterThanOrEqual(1500);
  });

  it("redelivers on request while the event is being sent, and ignores the late result", async () => {
    const subscription = await subscribed();
    const held: Array<() => void> = [];
    subscription.receiver.answer((_, response) => void held.push(() => response.writeHead(204).end()));
    startWorker().deliverer.own(0);
    const [deliveryId = ""] = await subscription.queue(1);
    await eventually("the first attempt fails", () => held.length === 1);
    const { receiver, subscription_id, org_id } = subscription;
    receiver.answer((_, response) => void response.writeHead(204).end());
    // The state of a delivery whose first attempt has failed and whose retry is in flight.
    await own.database.system((db) =>
      db.query("update webhook_deliveries set status = 'retrying' where subscription_id = $1", [subscription_id]),
    );
    await own.database.org(org_id, (db) => retryDelivery(db, subscription_id, deliveryId));
    await delay(200);
    expect(receiver.received()).toHaveLength(1);
    held[0]?.();
    await allDelivered(subscription, 1);
    expect(receiver.counts().size).toBe(1);
    expect(receiver.received()).toHaveLength(2);
  });
});

describe("a worker that shuts down", () => {
  it("records deliveries in flight before it exits", async () => {
    const subscription = await subscribed();
    const held: Array<() => void> = [];
    subscription.receiver.answer((_, response) => void held.push(() => response.writeHead(204).end()));
    const worker = startWorker();
    worker.deliverer.own(0);
    await subscription.queue(1);
    await eventually("it is under way", () => held.length === 1);
    let gone = false;
    const closing = worker.close(MINUTE_MS).then(() => (gone = true));
    await delay(100);
    expect(gone).toBe(false);
    held[0]?.();
    await closing;
    expect(await rowsOf(subscription)).toMatchObject([{ status: "delivered", attempts: 1 }]);
  });
});

describe("a claim so slow that its lease may end during sending", () => {
  it("is not sent", async () => {
    const subscription = await subscribed();
    await subscription.queue(1);
    const now = performance.now.bind(performance);
    let ahead = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + ahead);
    onTestFinished(() => clock.mockRestore());
    const slow: Database = {
      ...own.database,
      async system(work) {
        const answer = await own.database.system(work);
        ahead += 6000;
        return answer;
      },
    };
    startWorker({ db: slow }).deliverer.own(0);
    const claims = (): Promise<Array<{ claim: number }>> =>
      own.database.system((db) =>
        db.query("select claim from webhook_deliveries where subscription_id = $1", [subscription.subscription_id]),
      );
    await eventually("it is claimed", async () => (await claims())[0]?.claim === 1);
    await delay(200);
    expect(subscription.receiver.received()).toEqual([]);
  });
});

describe("a result that arrives after its lease has ended", () => {
  it("does not change the schedule if it is a failure, but still counts if it is a success", async () => {
    const subscription = await subscribed();
    await subscription.queue(1);
    const wanted = [{ subscription_id: subscription.subscription_id, count: 5 }];
    const claim = async (ms: number) => {
      const { jobs } = await own.database.system((db) => claimDeliveries(db, wanted, [], ms));
      return jobs[0] ?? expect.fail("nothing was claimed");
    };
    const record = (job: Awaited<ReturnType<typeof claim>>, ok: boolean) => {
      const result = { at: new Date().toISOString(), duration_ms: 1, url: "", ok, status_code: ok ? 200 : 500 };
      const nothing = { error_code: null, error_message: null, response_body: null, retry_after_ms: null };
      const verdict = ok
        ? ({ status: "delivered", failure_reason: null, delay_ms: null, hold_ms: null } as const)
        : ({ status: "retrying", failure_reason: null, delay_ms: 1, hold_ms: null } as const);
      return own.database.system((db) => recordAttempts(db, [{ job, result: { ...result, ...nothing }, verdict }]));
    };
    const late = await claim(0);
    await claim(MINUTE_MS);
    expect(await record(late, false)).toMatchObject([{ applied: false, failed_attempts: 1 }]);
    const [claimed] = await rowsOf(subscription);
    expect(claimed).toMatchObject({ status: "pending", attempts: 1 });
    expect(claimed?.due_in_seconds).toBeGreaterThan(30);
    expect(await record(late, true)).toMatchObject([{ applied: true, failed_attempts: 0 }]);
    expect(await rowsOf(subscription)).toMatchObject([{ status: "delivered", attempts: 2, due_in_seconds: null }]);
  });
});

describe("an idle worker", () => {
  it("queries the database twice per MILLRACE_WEBHOOK_POLL_MS: for events and for deliveries", async () => {
    let statements = 0;
    const counting: Database = {
      ...own.database,
      system: (work) =>
        own.database.system((db) =>
          work({
            ...db,
            query(statement, values) {
              statements += 1;
              return db.query(statement, values);
            },
          }),
        ),
    };
    const { deliverer } = startWorker({ db: counting, pollMs: 200 });
    for (let shard = 0; shard < SHARDS; shard += 1) deliverer.own(shard);
    await expect.poll(() => statements).toBeGreaterThanOrEqual(2 * SHARDS);
    statements = 0;
    const since = performance.now();
    await expect.poll(() => statements).toBeGreaterThanOrEqual(10);
    // With the default interval of 5 s, this would be 0.4 per second.
    expect(statements).toBeLessThanOrEqual(2 * ((performance.now() - since) / 200 + 2));
  });
});
