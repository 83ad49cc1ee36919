import { Client } from "pg";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { withTemporal } from "../../support/histories.ts";
import { echo } from "../../api/tenant.ts";
import { flow, openBench, type Bench } from "../../engine/support.ts";
import type { TargetHandler } from "../../support/http-target.ts";
import { startService, type OwnService } from "../../support/service.ts";
import { eventually } from "../../support/scratch.ts";
import { startReceiver, type Receiver } from "./receiver.ts";
import { readMetrics } from "../../support/metrics.ts";

const SCHEDULE_MS = [0, 100, 200, 300];
const TIMEOUT_MS = 2000;
const DISABLE_ATTEMPTS = 6;

let service: OwnService;
let bench: Bench;
let project_id: string;
const taskQueue = `deliveries-${process.pid}`;
/** Delivery workflows of an earlier release: one on this installation's queue, one on another's. */
const retired = { ours: `deliver-${randomUUID()}-0`, theirs: `deliver-${randomUUID()}-0` };
beforeAll(async () => {
  await withTemporal(inject("millrace").temporalAddress, async (client) => {
    const begin = (workflowId: string, queue: string) =>
      client.workflow.start("deliverWebhook", { workflowId, taskQueue: `${queue}-runs`, workflowTaskTimeout: "1s" });
    await Promise.all([begin(retired.ours, taskQueue), begin(retired.theirs, `not-${taskQueue}`)]);
    // Workers list them when they start.
    await eventually("they are listed", async () => {
      const { count } = await client.workflow.count(
        `WorkflowType = 'deliverWebhook' and TaskQueue = '${taskQueue}-runs'`,
      );
      return Number(count) === 1;
    });
  });
  service = await startService({
    env: {
      MILLRACE_TASK_QUEUE: taskQueue,
      MILLRACE_WEBHOOK_SCHEDULE_MS: SCHEDULE_MS.join(","),
      MILLRACE_WEBHOOK_TIMEOUT_MS: String(TIMEOUT_MS),
      MILLRACE_WEBHOOK_DISABLE_AFTER_MS: "1",
      MILLRACE_WEBHOOK_DISABLE_ATTEMPTS: String(DISABLE_ATTEMPTS),
      MILLRACE_WEBHOOK_CONCURRENCY: "4",
      // Polling must not be needed, because every event is notified.
      MILLRACE_WEBHOOK_POLL_MS: "60000",
    },
  });
  bench = await openBench(service);
  project_id = await bench.deploy(echo());
});
afterAll(() => service?.close());

interface Subscription {
  readonly subscription_id: string;
  readonly secret: string;
  readonly path: string;
}

async function subscribe(receiver: Receiver, more: Record<string, unknown> = {}, by = bench): Promise<Subscription> {
  const { status, body } = await by.api.post("/v2/webhooks/subscriptions", {
    url: receiver.url,
    events: ["run.completed"],
    ...more,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return { ...body, path: `/v2/webhooks/subscriptions/${body.subscription_id}` };
}

async function run(inputs: Record<string, unknown> = { "in-0": "hello" }, by = bench, project = project_id) {
  const { status, body } = await by.api.post("/v2/runs", { project_id: project, inputs, mode: "sync" });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

const deliveriesOf = async (subscription: Subscription, query: Record<string, string> = {}, by = bench) =>
  (await by.api.get(`${subscription.path}/deliveries`, { query })).body.data;

const ended = (subscription: Subscription, count = 1, by = bench) =>
  eventually(`${count} deliveries have ended`, async () => {
    const all = await deliveriesOf(subscription, { page_size: "200" }, by);
    return all.length >= count && all.every((each: { finished_at: unknown }) => each.finished_at !== null) && all;
  });

const attemptsOf = async (subscription: Subscription, delivery_id: string) =>
  (await bench.api.get(`${subscription.path}/deliveries/${delivery_id}`)).body.attempts_made;

/** Responds with each handler in turn; the last one is repeated forever. */
const sequence = (...handlers: TargetHandler[]): TargetHandler => {
  let next = 0;
  return (...args) => handlers[Math.min(next++, handlers.length - 1)]?.(...args);
};
const status =
  (code: number, headers: Record<string, string> = {}): TargetHandler =>
  (_, response) =>
    void response.writeHead(code, headers).end();

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
/** Sends a response whose body is cut off. */
const brokenOff =
  (code: number, headers: Record<string, string> = {}): TargetHandler =>
  (_, response, socket) => {
    response.writeHead(code, { ...headers, "content-length": 100 });
    response.write("as far as here", () => socket.end());
  };
/** Sends a response whose body never ends. */
const dripping =
  (code: number): TargetHandler =>
  (_, response) => {
    response.writeHead(code, { "content-type": "text/plain" });
    const timer = setInterval(() => response.write("x"), 50);
    response.on("close", () => clearInterval(timer));
  };

it("terminates delivery workflows of an earlier release and no other workflows", async () => {
  await withTemporal(service.temporalAddress, async (client) => {
    const state = async (id: string) => (await client.workflow.getHandle(id).describe()).status.name;
    await eventually("it is ended", async () => (await state(retired.ours)) === "TERMINATED");
    expect(await state(retired.theirs)).toBe("RUNNING");
    await client.workflow.getHandle(retired.theirs).terminate();
  });
});

describe("an event", () => {
  it("is delivered once, signed, with its subject", async () => {
    const receiver = await startReceiver();
    const subscription = await subscribe(receiver);
    const { run_id } = await run();
    await ended(subscription);
    const [delivery] = receiver.received();
    expect(receiver.received()).toHaveLength(1);
    expect(receiver.forged(subscription.secret)).toEqual([]);
    expect(delivery?.request).toMatchObject({ method: "POST", headers: { "content-type": "application/json" } });
    expect(delivery?.event).toEqual({
      id: delivery?.id,
      type: "run.completed",
      timestamp: expect.any(String),
      api_version: "v2",
      org_id: bench.org_id,
      data: {
        run_id,
        project_id,
        flow_version: 1,
        run_type: "api",
        environment: "production",
        parent_run_id: null,
        state: "COMPLETED",
        state_reason: null,
        error: null,
        outputs: { "out-0": "hello" },
      },
    });
    expect(delivery?.id).toMatch(/^evt_[0-9a-f-]{36}$/);
  });

  it("contains a reference if its data is too long to be sent", async () => {
    const receiver = await startReceiver();
    const subscription = await subscribe(receiver);
    const { run_id } = await run({ "in-0": "x".repeat(30_000) });
    await ended(subscription);
    const [delivery] = receiver.received();
    expect(delivery?.event.data).toMatchObject({
      run_id,
      state: "COMPLETED",
      reference: { href: expect.stringMatching(new RegExp(`/v2/runs/${run_id}$`)), size_bytes: expect.any(Number) },
    });
    expect(delivery?.event.data).not.toHaveProperty("outputs");
    expect(delivery?.request.body.length).toBeLessThan(2000);
  });

  it("is delivered only if it matches by type, pattern, project and organisation", async () => {
    const [receiver, other] = await Promise.all([startReceiver(), startReceiver()]);
    const stranger = await openBench(service);
    const elsewhere = await bench.deploy(echo());
    const subscription = await subscribe(receiver, { events: ["run.*"], filter: { project_id: [elsewhere] } });
    await subscribe(other, { events: ["*"] }, stranger);
    await run();
    const { run_id } = await run({ "in-0": "there" }, bench, elsewhere);
    await ended(subscription, 2);
    expect(receiver.received().map(({ event }) => [event.type, event.data["run_id"]])).toEqual(
      expect.arrayContaining([
        ["run.started", run_id],
        ["run.completed", run_id],
      ]),
    );
    expect(receiver.received()).toHaveLength(2);
    expect(other.received()).toEqual([]);
  });

  it("reports every state change of a run: paused, resumed, failed, cancelled", async () => {
    const receiver = await startReceiver();
    const subscription = await subscribe(receiver, { events: ["run.*"] });
    const asking = await bench.deploy(
      flow(
        [
          { id: "ask-0", type: "approval", config: { message: "?" } },
          { id: "out-0", type: "output" },
        ],
        ["ask-0:approve>out-0"],
      ),
    );
    const breaking = await bench.deploy(
      flow(
        [
          { id: "http-0", type: "http", config: { url: "http://10.0.0.1/" } },
          { id: "out-0", type: "output" },
        ],
        ["http-0>out-0"],
      ),
    );
    const first = await bench.start(asking);
    const { pauses } = await bench.until(first.run_id, "PAUSED");
    await bench.api.post(`/v2/runs/${first.run_id}/resume`, {
      pause_id: pauses[0]?.pause_id,
      action: "approve",
    });
    await bench.until(first.run_id, "COMPLETED");
    const second = await bench.start(asking);
    await bench.until(second.run_id, "PAUSED");
    await bench.api.post(`/v2/runs/${second.run_id}/cancel`, {});
    await bench.until(second.run_id, "CANCELLED");
    const third = await bench.start(breaking);
    await bench.until(third.run_id, "FAILED");
    await ended(subscription, 9);
    const told = (id: string) =>
      receiver
        .received()
        .filter(({ event }) => event.data["run_id"] === id)
        .map(({ event }) => event.type)
        .toSorted();
    expect(told(first.run_id)).toEqual(["run.completed", "run.paused", "run.resumed", "run.started"]);
    expect(told(second.run_id)).toEqual(["run.cancelled", "run.paused", "run.started"]);
    expect(told(third.run_id)).toEqual(["run.failed", "run.started"]);
  });
});

describe("a receiver that fails", () => {
  it("gets retries on the schedule, with the same ID and a new timestamp, until it accepts the event", async () => {
    const receiver = await startReceiver();
    receiver.answer(sequence(status(500), status(404), status(204)));
    const subscription = await subscribe(receiver);
    await run();
    const [delivery] = await ended(subscription);
    expect(delivery).toMatchObject({ status: "delivered", attempts: 3, last_status_code: 204, last_error: null });
    expect([...receiver.counts().values()]).toEqual([3]);
    expect(receiver.forged(subscription.secret)).toEqual([]);
    const attempts = await attemptsOf(subscription, delivery.delivery_id);
    expect(attempts.map((each: { status_code: number }) => each.status_code)).toEqual([500, 404, 204]);
    const times = receiver.received().map(({ at }) => at);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(SCHEDULE_MS[1] ?? 0);
    expect((times[2] ?? 0) - (times[1] ?? 0)).toBeGreaterThanOrEqual(SCHEDULE_MS[2] ?? 0);
  });

  it("gets no more attempts after the last one, and gets the event on manual redelivery", async () => {
    const receiver = await startReceiver();
    receiver.answer(status(503));
    const subscription = await subscribe(receiver);
    await run();
    const [failed] = await ended(subscription);
    expect(failed).toMatchObject({ status: "failed", failure_reason: "attempts_exhausted", attempts: 4 });
    receiver.answer(status(200));
    const again = await bench.api.post(`${subscription.path}/deliveries/${failed.delivery_id}/retry`);
    expect(again).toMatchObject({ status: 202, body: { status: "pending", failure_reason: null } });
    const [delivered] = await ended(subscription);
    expect(delivered).toMatchObject({ status: "delivered", attempts: 5 });
    expect(receiver.counts().size).toBe(1);
  });

  it.each([
    ["redirect", status(302, { location: "http://127.0.0.1:1/" }), { status_code: 302, code: "redirect" }],
    ["an answer that does not come", () => undefined, { status_code: null, code: "timeout" }],
    [
      "a connection that is reset",
      (_request, _response, socket) => void socket.resetAndDestroy(),
      { status_code: null, code: "connection_failed" },
    ],
    [
      "an answer that is not HTTP",
      (_request, _response, socket) => void socket.end("SSH-2.0-OpenSSH_9\r\n"),
      { status_code: null, code: "invalid_response" },
    ],
  ])("gets a retry after %s", async (_, handler, { status_code, code }) => {
    const receiver = await startReceiver();
    receiver.answer(sequence(handler, status(204)));
    const subscription = await subscribe(receiver);
    await run();
    const [delivery] = await ended(subscription);
    expect(delivery).toMatchObject({ status: "delivered", attempts: 2 });
    const [first] = await attemptsOf(subscription, delivery.delivery_id);
    expect(first).toMatchObject({ status_code, error: { code, message: expect.any(String) } });
    expect(receiver.target.requests.every((request) => request.path === "/hook")).toBe(true);
  });

  it.each([
    ["cannot be decoded", (_, response) => void response.writeHead(200, { "content-encoding": "zstd" }).end("abc")],
    ["is not what it says", (_, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end("abc")],
    ["breaks off", brokenOff(200)],
    ["is not HTTP any more", (_, __, socket) => void socket.end(`${CHUNKED}5\r\nhello\r\nnonsense\r\n`)],
    ["never ends", dripping(200)],
  ] satisfies Array<[string, TargetHandler]>)(
    "has accepted the event if the status says so, even if the response body %s",
    async (_, handler) => {
      const receiver = await startReceiver();
      receiver.answer(handler);
      const subscription = await subscribe(receiver);
      await run();
      const [delivery] = await ended(subscription);
      expect(delivery).toMatchObject({ status: "delivered", attempts: 1, last_status_code: 200, last_error: null });
      const [attempt] = await attemptsOf(subscription, delivery.delivery_id);
      expect(attempt).toMatchObject({ status_code: 200, error: null });
      expect(receiver.received()).toHaveLength(1);
    },
  );

  it.each([
    ["cannot be decoded", (_, response) => void response.writeHead(410, { "content-encoding": "zstd" }).end("abc")],
    ["breaks off", brokenOff(410)],
    ["never ends", dripping(410)],
  ] satisfies Array<[string, TargetHandler]>)(
    "disables its webhook immediately with a 410, even if the response body %s",
    async (_, handler) => {
      const receiver = await startReceiver();
      receiver.answer(handler);
      const subscription = await subscribe(receiver);
      await run();
      const [gone] = await ended(subscription);
      expect(gone).toMatchObject({ status: "failed", failure_reason: "gone", attempts: 1, last_status_code: 410 });
      expect((await bench.api.get(subscription.path)).body).toMatchObject({ disabled_reason: "gone" });
    },
  );

  it("is retried after its Retry-After, and its response is recorded, even if the body breaks off", async () => {
    const receiver = await startReceiver();
    receiver.answer(brokenOff(503, { "retry-after": "60" }));
    const subscription = await subscribe(receiver);
    await run();
    const [delivery] = await eventually("the attempt is recorded", async () => {
      const all = await deliveriesOf(subscription, { status: "retrying" });
      return all.length > 0 && all;
    });
    const [attempt] = await attemptsOf(subscription, delivery.delivery_id);
    expect(attempt).toMatchObject({
      status_code: 503,
      error: { code: "bad_status", message: expect.stringMatching(/returned 503.*could not be read to the end/) },
    });
    expect(Date.parse(delivery.next_attempt_at) - Date.parse(attempt.at)).toBeGreaterThanOrEqual(60_000);
    await bench.api.delete(subscription.path);
  });

  it("webhook-abuse: has only the beginning of a huge response read and stored, without secrets", async () => {
    const receiver = await startReceiver();
    receiver.answer((_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      response.write('{"password":"hunter22hunter22"} ');
      for (let n = 0; n < 200; n += 1) response.write("y".repeat(64 * 1024));
      response.end();
    });
    const subscription = await subscribe(receiver);
    await run();
    const [delivery] = await ended(subscription);
    expect(delivery).toMatchObject({ status: "delivered", attempts: 1 });
    const [attempt] = await attemptsOf(subscription, delivery.delivery_id);
    expect(attempt.response_body.length).toBeLessThanOrEqual(1024);
    expect(attempt.response_body).not.toContain("hunter22");
  });

  it("gets no attempts for as long as it asks, and no other events meanwhile", async () => {
    const receiver = await startReceiver();
    receiver.answer(sequence(status(429, { "retry-after": "2" }), status(204)));
    const subscription = await subscribe(receiver);
    await run();
    await eventually(
      "the first attempt is recorded",
      async () => (await deliveriesOf(subscription, { status: "retrying" })).length > 0,
    );
    await run();
    await ended(subscription, 2);
    const [first, ...later] = receiver.received().map(({ at }) => at);
    expect(later).toHaveLength(2);
    for (const at of later) expect(at - (first ?? 0)).toBeGreaterThanOrEqual(1900);
  });

  it("disables its webhook with a 410; after enabling, a replay delivers missed events", async () => {
    const receiver = await startReceiver();
    receiver.answer(status(410));
    const since = new Date().toISOString();
    const subscription = await subscribe(receiver);
    await run({ "in-0": "one" });
    const [gone] = await ended(subscription);
    expect(gone).toMatchObject({ status: "failed", failure_reason: "gone", attempts: 1 });
    expect((await bench.api.get(subscription.path)).body).toMatchObject({
      status: "disabled",
      disabled_reason: "gone",
    });
    await run({ "in-0": "two" });
    receiver.answer(status(204));
    const refused = await bench.api.post(`${subscription.path}/replay`, { since });
    expect(refused).toMatchObject({ status: 409, body: { code: "subscription_disabled" } });
    expect((await bench.api.patch(subscription.path, { status: "enabled" })).body).toMatchObject({
      status: "enabled",
      disabled_reason: null,
    });
    expect((await bench.api.post(`${subscription.path}/replay`, { since, only_failed: true })).status).toBe(202);
    await eventually("both are delivered", async () => {
      const all = await deliveriesOf(subscription, { status: "delivered" });
      return all.length === 2;
    });
    expect(receiver.counts().size).toBe(2);
  });

  it("is disabled when all attempts fail, and other webhooks get an event about it", async () => {
    const [receiver, watcher] = await Promise.all([startReceiver(), startReceiver()]);
    const mine = await openBench(service);
    const project = await mine.deploy(echo());
    receiver.answer(status(500));
    const subscription = await subscribe(receiver, {}, mine);
    const watching = await subscribe(watcher, { events: ["webhook.*"] }, mine);
    await Promise.all([run(undefined, mine, project), run(undefined, mine, project)]);
    await eventually("it is disabled", async () => {
      const { body } = await mine.api.get(subscription.path);
      return body.status === "disabled" && body.disabled_reason === "failing";
    });
    const all = await ended(subscription, 2, mine);
    expect(all.map((each: { failure_reason: string }) => each.failure_reason)).toContain("subscription_disabled");
    expect(receiver.received().length).toBeGreaterThanOrEqual(DISABLE_ATTEMPTS);
    const calls = receiver.received().length;
    await ended(watching, 1, mine);
    const [told] = watcher.received();
    expect(told?.event).toMatchObject({
      type: "webhook.subscription.disabled",
      data: { subscription_id: subscription.subscription_id, reason: "failing", failed_attempts: DISABLE_ATTEMPTS },
    });
    await run(undefined, mine, project);
    await eventually("the event has been seen to", async () => (await unrelayed()) === 0);
    expect(receiver.received()).toHaveLength(calls);
  });

  it("that hangs uses only its own slots, so that others get their events immediately", async () => {
    const [hanging, healthy] = await Promise.all([startReceiver(), startReceiver()]);
    hanging.answer(() => undefined);
    const dead = await subscribe(hanging);
    const alive = await subscribe(healthy);
    const since = Date.now();
    await Promise.all(Array.from({ length: 12 }, () => run()));
    await eventually("the healthy one has all", () => healthy.received().length === 12);
    const took = Date.now() - since;
    // Attempts that wait one after the other for hanging receivers would take as many timeouts.
    expect(took).toBeLessThan(12 * TIMEOUT_MS);
    expect(hanging.target.active()).toBeLessThanOrEqual(4);
    await ended(alive, 12);
    await bench.api.delete(dead.path);
    expect((await bench.api.get(dead.path)).status).toBe(404);
  });
});

describe("many concurrent deliveries", () => {
  it("write no invalid line to the log", async () => {
    const receiver = await startReceiver();
    const many = 12;
    receiver.answer(async (_, response) => {
      await eventually("all are under way", () => receiver.received().length >= many);
      response.writeHead(204).end();
    });
    const subscriptions = await Promise.all(Array.from({ length: 4 }, () => subscribe(receiver)));
    await Promise.all(Array.from({ length: many / 4 }, () => run()));
    for (const subscription of subscriptions) await ended(subscription, many / 4);
    const lines = service.logs().split("\n");
    expect(lines.filter((line) => line !== "" && !line.startsWith("{"))).toEqual([]);
  });
});

describe("a secret", () => {
  it("in custom headers is hidden, even if the receiver echoes all or part of it", async () => {
    const receiver = await startReceiver();
    const headers = {
      "X-Plain-Name": 'Zebra/7 "quoted" & more',
      "X-Tenant": "acme-4711",
      "X-Short": "1",
      "X-Scheme": "Custom opensesame",
      "X-Long": `${"long-value-".repeat(180)}end`,
    };
    const echoed: TargetHandler = (request, response) => {
      const json = JSON.stringify(request.headers);
      const encoded = encodeURIComponent(request.headers["x-plain-name"] ?? "");
      response.writeHead(500);
      response.end(`${json} ${encoded} ${Buffer.from(json).toString("base64")} ${json}`);
    };
    const long: TargetHandler = (request, response) => {
      response.writeHead(500).end(`got 1: ${request.headers["x-long"]?.repeat(20)}`);
    };
    const brokenInside: TargetHandler = (request, response, socket) => {
      response.writeHead(500, { "content-length": 1000 });
      response.write(`for ${request.headers["x-tenant"]?.slice(0, 6)}`, () => socket.end());
    };
    receiver.answer(sequence(echoed, long, brokenInside, status(204)));
    const subscription = await subscribe(receiver, { headers });
    await run();
    const [delivery] = await ended(subscription);
    const attempts = await attemptsOf(subscription, delivery.delivery_id);
    const shown = JSON.stringify(attempts);
    expect(shown).not.toMatch(/zebra|quoted|acme-|4711|opensesame|long-value/i);
    expect(shown).not.toContain(Buffer.from("opensesame").toString("base64").slice(2, -4));
    const bodies = attempts.map((each: { response_body: string | null }) => each.response_body);
    expect(bodies).toContainEqual(expect.stringMatching(/^got 1: (\[redacted\])+$/));
    for (const body of bodies) expect((body ?? "").length).toBeLessThanOrEqual(1024);
  });

  it("that was rotated out signs beside the new one for a while", async () => {
    const receiver = await startReceiver();
    const subscription = await subscribe(receiver);
    const { body } = await bench.api.post(`${subscription.path}/rotate-secret`);
    expect(body.secret).toMatch(/^whsec_/);
    expect(body.secret).not.toBe(subscription.secret);
    await run();
    await ended(subscription);
    expect(receiver.forged(subscription.secret)).toEqual([]);
    expect(receiver.forged(body.secret)).toEqual([]);
    const [delivery] = receiver.received();
    expect(delivery?.request.headers["webhook-signature"]?.split(" ")).toHaveLength(2);
  });
});

describe("deliveries in the metrics", () => {
  it("are counted as waiting by every process, and as attempts by the workers", async () => {
    const receiver = await startReceiver();
    const mine = await openBench(service);
    const project = await mine.deploy(echo());
    receiver.answer(sequence(status(503, { "retry-after": "30" }), status(204)));
    const subscription = await subscribe(receiver, {}, mine);
    await run(undefined, mine, project);
    for (const { url } of [...service.api, ...service.worker]) {
      await eventually(
        "its delivery is counted",
        async () =>
          (await metric(url, 'millrace_webhook_deliveries_waiting{status="retrying"')) >= 1 &&
          (await metric(url, 'millrace_webhook_subscriptions{status="failing"')) >= 1,
      );
      expect(await metric(url, "millrace_outbox_lag_seconds")).toBeGreaterThanOrEqual(0);
      expect(await metric(url, "millrace_outbox_pending")).toBeGreaterThanOrEqual(0);
    }
    const [worker] = service.worker;
    expect(await metric(worker?.url, 'millrace_webhook_attempts_total{outcome="bad_status"')).toBeGreaterThanOrEqual(1);
    expect(await metric(worker?.url, "millrace_webhook_delivery_lag_seconds_count")).toBeGreaterThanOrEqual(1);
    await mine.api.delete(subscription.path);
  });
});

/** The value of the metric line with this prefix; NaN if there is none. */
async function metric(url: string | undefined, beginning: string): Promise<number> {
  const text = await readMetrics({ url: url ?? "" });
  const line = text.split("\n").find((each) => each.startsWith(beginning));
  return Number(line?.split(" ").at(-1) ?? Number.NaN);
}

/** Number of events that no worker has turned into deliveries yet. */
async function unrelayed(): Promise<number> {
  const client = new Client({ connectionString: service.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ n: number }>(
      "select count(*)::integer as n from outbox where relayed_at is null",
    );
    return rows[0]?.n ?? -1;
  } finally {
    await client.end();
  }
}
