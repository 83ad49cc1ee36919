import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startHttpTarget, type HttpTarget, type ReceivedRequest } from "../../support/http-target.ts";
import { createOrganisation } from "../../support/service.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess } from "../in-process.ts";
import { echo, failing, openTenant, type ApiTenant } from "../tenant.ts";
import { delivered, places, subscribe, verifies, type Subscribed } from "./webhooks.ts";

const UNKNOWN = "0197f0a0-0000-7000-8000-000000000000";
const EVENT_ID = /^evt_[0-9a-f-]{36}$/;

let mine: ApiTenant;
let receiver: HttpTarget;
beforeAll(async () => {
  [mine, receiver] = await Promise.all([openTenant(), startHttpTarget()]);
});
afterAll(() => receiver?.close());

let paths = 0;
/** A path of the receiver for one test only. */
const ownPath = (): string => `/receiver-${++paths}`;
const arrived = (path: string): ReceivedRequest[] => receiver.requests.filter((each) => each.path === path);
const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();

async function run(tenant: ApiTenant, project_id: string): Promise<string> {
  const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "x" }, mode: "sync" });
  return body.run_id;
}

/** Waits for the record, which shows a delivery a moment after the receiver gets it. */
async function recorded(tenant: ApiTenant, subscription: string, expected: Array<[string, number]>): Promise<void> {
  await expect
    .poll(async () => {
      const { body } = await tenant.secret.get(`${subscription}/deliveries`);
      return body.data.map((each: { status: string; attempts: number }) => [each.status, each.attempts]);
    })
    .toEqual(expected);
}

/** Run IDs of the events that the receiver got on this path, one per event. */
const deliveredRuns = (path: string): string[] => arrived(path).map((each) => JSON.parse(each.body).data.run_id);

describe("a delivery", () => {
  it("sends a run's events, signed and in the envelope, only to webhooks that selected them", async () => {
    const tenant = await openTenant();
    const [project, other] = [await tenant.deploy(echo()), await tenant.deploy(echo())];
    const [all, narrow, unasked] = [ownPath(), ownPath(), ownPath()];
    const wide = await subscribe(tenant.secret, { url: `${receiver.url}${all}`, events: ["run.*"] });
    await subscribe(tenant.secret, {
      url: `${receiver.url}${narrow}`,
      events: ["run.completed"],
      filter: { project_id: [project] },
    });
    await subscribe(tenant.secret, { url: `${receiver.url}${unasked}`, events: ["run.failed", "skill.*"] });
    const [first, second] = [await run(tenant, project), await run(tenant, other)];
    await expect.poll(() => arrived(all).length).toBe(4);
    await expect.poll(() => deliveredRuns(narrow)).toEqual([first]);
    const envelopes = arrived(all).map((each) => JSON.parse(each.body));
    expect(envelopes.map(({ type, data }) => `${type} ${data.run_id}`).toSorted()).toEqual(
      [first, second].flatMap((id) => [`run.completed ${id}`, `run.started ${id}`]).toSorted(),
    );
    for (const request of arrived(all)) {
      expect(verifies(request, wide.secret)).toBe(true);
      expect(request).toMatchObject({
        method: "POST",
        headers: {
          "content-type": "application/json",
          "user-agent": expect.stringMatching(/^Millrace\//),
          "webhook-id": expect.stringMatching(EVENT_ID),
          "webhook-timestamp": expect.stringMatching(/^\d{10}$/),
          "webhook-signature": expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
        },
      });
      const envelope = JSON.parse(request.body);
      expect(Object.keys(envelope)).toEqual(["id", "type", "timestamp", "api_version", "org_id", "data"]);
      expect(envelope).toMatchObject({ id: request.headers["webhook-id"], org_id: tenant.org_id, api_version: "v2" });
    }
    expect(arrived(unasked)).toEqual([]);
  });
});

describe("the test of a webhook", () => {
  it("sends a signed event and returns its delivery", async () => {
    const path = ownPath();
    const subscription = await subscribe(mine.secret, { url: `${receiver.url}${path}` });
    const { status, body } = await mine.secret.post(`${subscription.path}/test`);
    expect([status, body]).toEqual([
      202,
      {
        delivery_id: expect.any(String),
        subscription_id: subscription.id,
        event_id: expect.stringMatching(EVENT_ID),
        event_type: "webhook.test",
        status: "pending",
        failure_reason: null,
        attempts: 0,
        next_attempt_at: null,
        last_status_code: null,
        last_error: null,
        created_at: expect.any(String),
        finished_at: null,
      },
    ]);
    const detail = await delivered(mine.secret, subscription.path, body.delivery_id);
    const [request, ...more] = arrived(path);
    expect(more).toEqual([]);
    expect(request && verifies(request, subscription.secret)).toBe(true);
    const sent = JSON.parse(request?.body ?? "");
    expect(sent).toMatchObject({ type: "webhook.test", data: { subscription_id: subscription.id } });
    expect(detail).toMatchObject({ attempts: 1, last_status_code: 200, last_error: null, event: sent });
    expect(detail.attempts_made).toEqual([
      {
        attempt: 1,
        at: expect.any(String),
        duration_ms: expect.any(Number),
        url: `${receiver.url}${path}`,
        status_code: 200,
        error: null,
        response_body: expect.any(String),
      },
    ]);
    expect((await mine.secret.get(subscription.path)).body).toMatchObject({ last_success_at: expect.any(String) });
  });

  it("is sent once per Idempotency-Key, even if its first response was lost", async () => {
    const path = ownPath();
    const subscription = await subscribe(mine.secret, { url: `${receiver.url}${path}` });
    const headers = { "Idempotency-Key": `test-${paths}` };
    const first = await mine.secret.post(`${subscription.path}/test`, undefined, { headers });
    expect((await mine.secret.post(`${subscription.path}/test`, undefined, { headers })).body).toEqual(first.body);
    await delivered(mine.secret, subscription.path, first.body.delivery_id);
    await mine.withDatabase((database) =>
      database.system((db) =>
        db.query(
          "update idempotency_keys set response = null, locked_until = now() where org_id = $1::uuid and key = $2",
          [mine.org_id, headers["Idempotency-Key"]],
        ),
      ),
    );
    const repeated = await mine.secret.post(`${subscription.path}/test`, undefined, { headers });
    expect(repeated).toMatchObject({
      status: 202,
      body: { delivery_id: first.body.delivery_id, event_id: first.body.event_id, status: "delivered" },
    });
    expect(arrived(path)).toHaveLength(1);
  });
});

describe("the deliveries of a webhook", () => {
  let tenant: ApiTenant;
  let subscription: Subscribed;
  let list: string;
  let middle: string;
  beforeAll(async () => {
    tenant = await openTenant();
    const path = ownPath();
    subscription = await subscribe(tenant.secret, { url: `${receiver.url}${path}`, events: ["run.*"] });
    list = `${subscription.path}/deliveries`;
    const [works, fails] = [await tenant.deploy(echo()), await tenant.deploy(failing())];
    await run(tenant, works);
    await vi.waitFor(() => expect(arrived(path)).toHaveLength(2), 60_000);
    // The receiver gets a delivery a moment before its record shows it.
    await vi.waitFor(async () => expect(await typesBy({ status: "delivered" })).toHaveLength(2), 60_000);
    middle = new Date().toISOString();
    receiver.on(path, (_, response) => void response.writeHead(503).end("not now"));
    await run(tenant, fails);
    await vi.waitFor(async () => expect(await typesBy({ status: "retrying" })).toHaveLength(2), 60_000);
  });

  const typesBy = async (query: Record<string, string>): Promise<string[]> => {
    const { status, body } = await tenant.secret.get(list, { query });
    expect(status, JSON.stringify(body)).toBe(200);
    return body.data.map((each: { event_type: string }) => each.event_type).toSorted();
  };

  it("can be filtered by status, type, event and time", async () => {
    expect(await typesBy({})).toEqual(["run.completed", "run.failed", "run.started", "run.started"]);
    expect(await typesBy({ status: "delivered" })).toEqual(["run.completed", "run.started"]);
    expect(await typesBy({ status: "retrying" })).toEqual(["run.failed", "run.started"]);
    expect(await typesBy({ status: "failed" })).toEqual([]);
    expect(await typesBy({ status: "pending" })).toEqual([]);
    expect(await typesBy({ event: "run.started" })).toEqual(["run.started", "run.started"]);
    expect(await typesBy({ event: "run.started", status: "delivered" })).toEqual(["run.started"]);
    expect(await typesBy({ event: "webhook.test" })).toEqual([]);
    expect(await typesBy({ since: middle })).toEqual(["run.failed", "run.started"]);
    expect(await typesBy({ since: "2999-01-01T00:00:00+02:00" })).toEqual([]);
    const { body } = await tenant.secret.get(list, { query: { event: "run.failed" } });
    const [{ event_id }] = body.data;
    expect(await typesBy({ event: event_id })).toEqual(["run.failed"]);
    expect(await typesBy({ event: event_id.toUpperCase().replace("EVT", "evt") })).toEqual(["run.failed"]);
    expect(await typesBy({ event: `evt_${UNKNOWN}` })).toEqual([]);
  });

  it("are listed page by page, and a cursor works only with its own filters", async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { body } = await tenant.secret.get(list, { query: { page_size: 3, order: "asc", cursor } });
      seen.push(...body.data.map((each: { delivery_id: string }) => each.delivery_id));
      cursor = body.has_more ? body.cursor : undefined;
    } while (cursor !== undefined);
    expect(new Set(seen).size).toBe(4);
    expect(seen).toEqual(seen.toSorted());
    const first = await tenant.secret.get(list, { query: { page_size: 1 } });
    const next = { page_size: 1, cursor: first.body.cursor };
    const other = await subscribe(tenant.secret, { url: receiver.url, events: ["skill.*"] });
    const answers = await Promise.all([
      tenant.secret.get(list, { query: { ...next, status: "delivered" } }),
      tenant.secret.get(list, { query: { ...next, event: "run.started" } }),
      tenant.secret.get(list, { query: { ...next, since: middle } }),
      tenant.secret.get(`${other.path}/deliveries`, { query: next }),
    ]);
    for (const answer of answers) expect(answer).toMatchObject({ status: 400, body: { code: "cursor_mismatch" } });
    expect((await tenant.secret.get(list, { query: next })).body.data).toHaveLength(1);
  });

  it.each([
    ["status", "done"],
    ["event", "run.*"],
    ["event", "run.unknown"],
    ["event", "evt_1"],
    ["event", UNKNOWN],
    ["event", "x".repeat(201)],
    ["since", "yesterday"],
    ["since", "2026-01-01"],
    ["page_size", "0"],
    ["until", "2026-01-01T00:00:00Z"],
  ])("reject %s=%s", async (name, value) => {
    expect(places(await tenant.secret.get(list, { query: { [name]: value } }))).toContainEqual(["query", name]);
  });

  it("show each attempt with its error, and the content that is sent", async () => {
    const { body } = await tenant.secret.get(list, { query: { event: "run.failed" } });
    const [delivery] = body.data;
    expect(delivery).toMatchObject({
      status: "retrying",
      last_status_code: 503,
      failure_reason: null,
      finished_at: null,
    });
    expect(Date.parse(delivery.next_attempt_at)).toBeGreaterThan(Date.now() - 20_000);
    const { status, body: detail } = await tenant.secret.get(`${list}/${delivery.delivery_id}`);
    expect(status).toBe(200);
    expect(detail.attempts_made[0]).toMatchObject({
      attempt: 1,
      status_code: 503,
      error: { code: "bad_status", message: expect.stringContaining("503") },
      response_body: "not now",
    });
    expect(detail.event).toMatchObject({ id: delivery.event_id, type: "run.failed", org_id: tenant.org_id });
    const shown = await tenant.secret.get(subscription.path);
    expect(shown.body).toMatchObject({ failing_since: expect.any(String), last_failure_at: expect.any(String) });
    expect(shown.body.failed_attempts).toBeGreaterThan(0);
  });

  it("are found only under their own webhook", async () => {
    const other = await subscribe(tenant.secret, { url: receiver.url, events: ["skill.*"] });
    const { body } = await tenant.secret.get(list, { query: { page_size: 1 } });
    const [{ delivery_id }] = body.data;
    const answers = await Promise.all([
      tenant.secret.get(`${other.path}/deliveries/${delivery_id}`),
      tenant.secret.post(`${other.path}/deliveries/${delivery_id}/retry`),
      tenant.secret.get(`${list}/${UNKNOWN}`),
      tenant.secret.post(`${list}/${UNKNOWN}/retry`),
    ]);
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 404, body: { detail: "Webhook delivery not found." } });
    expect((await tenant.secret.get(`${list}/nothing`)).status).toBe(422);
    expect(
      (await tenant.secret.get(`/v2/webhooks/subscriptions/${UNKNOWN}/deliveries/${delivery_id}`)).body,
    ).toMatchObject({ code: "not_found", detail: "Webhook subscription not found." });
  });
});

describe("the retry of a delivery", () => {
  it("sends a failing delivery immediately, and a delivered one again, with the same webhook-id", async () => {
    const path = ownPath();
    const { path: at, secret } = await subscribe(mine.secret, { url: `${receiver.url}${path}` });
    receiver.on(path, (_, response) => void response.writeHead(500).end());
    const { body: test } = await mine.secret.post(`${at}/test`);
    await delivered(mine.secret, at, test.delivery_id, "retrying");
    receiver.on(path, (_, response) => void response.end());
    const retry = () => mine.secret.post(`${at}/deliveries/${test.delivery_id}/retry`);
    const first = await retry();
    expect(first).toMatchObject({
      status: 202,
      body: { delivery_id: test.delivery_id, status: "pending", attempts: 1 },
    });
    expect(await delivered(mine.secret, at, test.delivery_id)).toMatchObject({ attempts: 2, last_status_code: 200 });
    expect(await retry()).toMatchObject({ status: 202, body: { status: "pending", finished_at: null } });
    const detail = await delivered(mine.secret, at, test.delivery_id);
    expect(
      detail.attempts_made.map(({ attempt, status_code }: { attempt: number; status_code: number }) => [
        attempt,
        status_code,
      ]),
    ).toEqual([
      [1, 500],
      [2, 200],
      [3, 200],
    ]);
    const requests = arrived(path);
    expect(new Set(requests.map((each) => each.headers["webhook-id"]))).toEqual(new Set([test.event_id]));
    expect(requests.map((each) => verifies(each, secret))).toEqual([true, true, true]);
  });

  it("happens once per Idempotency-Key", async () => {
    const path = ownPath();
    const { path: at } = await subscribe(mine.secret, { url: `${receiver.url}${path}` });
    const { body: test } = await mine.secret.post(`${at}/test`);
    await delivered(mine.secret, at, test.delivery_id);
    const headers = { "Idempotency-Key": randomUUID() };
    const retry = () => mine.secret.post(`${at}/deliveries/${test.delivery_id}/retry`, undefined, { headers });
    const first = await retry();
    await delivered(mine.secret, at, test.delivery_id);
    expect((await retry()).body).toEqual(first.body);
    expect((await delivered(mine.secret, at, test.delivery_id)).attempts).toBe(2);
  });
});

describe("a replay of events", () => {
  it("sends what was missed while a webhook was disabled, and nothing twice", async () => {
    const tenant = await openTenant();
    const project = await tenant.deploy(echo());
    const path = ownPath();
    const {
      id,
      path: at,
      secret,
    } = await subscribe(tenant.secret, {
      url: `${receiver.url}${path}`,
      events: ["run.completed"],
    });
    const had = await run(tenant, project);
    await expect.poll(() => deliveredRuns(path)).toEqual([had]);
    await recorded(tenant, at, [["delivered", 1]]);
    await tenant.secret.patch(at, { status: "disabled" });
    const missed = [await run(tenant, project), await run(tenant, project)];
    await tenant.secret.patch(at, { status: "enabled" });

    const since = ago(60_000);
    const { status, body } = await tenant.secret.post(`${at}/replay`, { since, only_failed: true });
    expect([status, body]).toEqual([
      202,
      {
        replay_id: expect.any(String),
        subscription_id: id,
        since,
        until: expect.any(String),
        events: ["run.completed"],
        only_failed: true,
        status: "running",
      },
    ]);
    expect(Math.abs(Date.parse(body.until) - Date.now())).toBeLessThan(20_000);
    await expect.poll(() => deliveredRuns(path).toSorted()).toEqual([had, ...missed].toSorted());
    expect(arrived(path).every((each) => verifies(each, secret))).toBe(true);
  });

  it("resends failed deliveries, and with only_failed nothing else", async () => {
    const tenant = await openTenant();
    const project = await tenant.deploy(echo());
    const path = ownPath();
    const { path: at } = await subscribe(tenant.secret, { url: `${receiver.url}${path}`, events: ["run.completed"] });
    const good = await run(tenant, project);
    await expect.poll(() => deliveredRuns(path)).toEqual([good]);
    await recorded(tenant, at, [["delivered", 1]]);
    receiver.on(path, (_, response) => void response.writeHead(410).end());
    const bad = await run(tenant, project);
    await expect.poll(async () => (await tenant.secret.get(at)).body.disabled_reason).toBe("gone");
    receiver.on(path, (_, response) => void response.end());
    await tenant.secret.patch(at, { status: "enabled" });
    expect((await tenant.secret.post(`${at}/replay`, { since: ago(60_000), only_failed: true })).status).toBe(202);
    await expect.poll(() => deliveredRuns(path)).toEqual([good, bad, bad]);
    const ids = arrived(path).map((each) => each.headers["webhook-id"]);
    expect(ids[1]).toBe(ids[2]);
    await recorded(tenant, at, [
      ["delivered", 2],
      ["delivered", 1],
    ]);

    expect((await tenant.secret.post(`${at}/replay`, { since: ago(60_000) })).status).toBe(202);
    await expect.poll(() => deliveredRuns(path).toSorted()).toEqual([good, good, bad, bad, bad].toSorted());
    await recorded(tenant, at, [
      ["delivered", 3],
      ["delivered", 2],
    ]);
  });

  it("covers only its time range, its events and those the webhook selected", async () => {
    const tenant = await openTenant();
    const project = await tenant.deploy(echo());
    const before = await run(tenant, project);
    await pause();
    const from = new Date().toISOString();
    const between = await run(tenant, project);
    const until = new Date().toISOString();
    await pause();
    const after = await run(tenant, project);
    const path = ownPath();
    // The webhook is newer than all runs, so nothing arrives without a replay.
    const { path: at } = await subscribe(tenant.secret, { url: `${receiver.url}${path}`, events: ["run.*"] });

    const replay = (body: object) => tenant.secret.post(`${at}/replay`, body);
    expect((await replay({ since: from, until, events: ["run.completed"] })).body).toMatchObject({
      since: from,
      until,
      events: ["run.completed"],
      only_failed: false,
    });
    await expect.poll(() => deliveredRuns(path)).toEqual([between]);
    // Each run has two events that the webhook selects; it never selected the others.
    await tenant.secret.patch(at, { events: ["run.started", "run.failed"] });
    await replay({ since: until, events: ["*"] });
    await expect.poll(() => deliveredRuns(path)).toEqual([between, after]);
    expect(JSON.parse(arrived(path)[1]?.body ?? "").type).toBe("run.started");
    expect(deliveredRuns(path)).not.toContain(before);
  });

  it("happens once per Idempotency-Key", async () => {
    const { path: at } = await subscribe(mine.secret, { url: `${receiver.url}${ownPath()}` });
    const headers = { "Idempotency-Key": randomUUID() };
    const order = { since: ago(1000) };
    const first = await mine.secret.post(`${at}/replay`, order, { headers });
    const again = await mine.secret.post(`${at}/replay`, order, { headers });
    expect([first.status, again.status, again.body]).toEqual([202, 202, first.body]);
    const other = await mine.secret.post(`${at}/replay`, { ...order, only_failed: true }, { headers });
    expect(other).toMatchObject({ status: 409, body: { code: "idempotency_conflict" } });
  });

  it.each<[string, Record<string, unknown>, unknown[][]]>([
    ["nothing", {}, [["since"]]],
    ["no time", { since: "yesterday", until: 7 }, [["since"], ["until"]]],
    ["a date", { since: "2026-01-01" }, [["since"]]],
    ["no events", { since: ago(1000), events: [] }, [["events"]]],
    ["unknown events", { since: ago(1000), events: ["run.*", "x.*"] }, [["events", 1]]],
    ["what is no boolean", { since: ago(1000), only_failed: "yes" }, [["only_failed"]]],
    ["more", { since: ago(1000), project_id: UNKNOWN }, [["project_id"]]],
    ["a time to come", { since: "2999-01-01T00:00:00Z" }, [["since"]]],
    ["an empty range", { since: ago(1000), until: ago(2000) }, [["until"]]],
    ["a range of no length", { since: "2999-01-01T00:00:00Z", until: "2999-01-01T01:00:00+01:00" }, [["until"]]],
    ["a time long ago", { since: "0001-01-01T00:00:00+23:59" }, [["since"]]],
    ["the year 9999", { since: "9999-12-31T23:59:59-23:59" }, [["since"]]],
  ])("rejects %s", async (_, body, expected) => {
    const { path: at } = await subscribe(mine.secret, { url: `${receiver.url}${ownPath()}` });
    expect(places(await mine.secret.post(`${at}/replay`, body))).toEqual(expected.map((loc) => ["body", ...loc]));
  });

  it("reports how far back events are kept", async () => {
    const { path: at } = await subscribe(mine.secret, { url: `${receiver.url}${ownPath()}` });
    const { body } = await mine.secret.post(`${at}/replay`, { since: ago(31 * 86_400_000) });
    expect(body.detail[0]).toMatchObject({ loc: ["body", "since"], msg: expect.stringContaining("kept for 30 days") });
    const api = await startInProcess({ env: { MILLRACE_EVENT_RETENTION_MS: "90000" } });
    const client = checkedClient(api, (await createOrganisation(api)).secretKey);
    const short = await subscribe(client, { url: "https://receiver.invalid/" });
    const answer = await client.post(`${short.path}/replay`, { since: ago(100_000) });
    expect(answer.body.detail[0].msg).toContain("kept for 90 seconds");
    expect((await client.post(`${short.path}/replay`, { since: ago(80_000) })).status).toBe(202);
    await api.close();
  });
});

/** Waits long enough for two timestamps to differ. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
