import { createHmac } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { Principal } from "../../../src/domain/accounts/principal.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { findTriggerType } from "../../../src/domain/triggers/trigger.ts";
import { signWebhook } from "../../../src/domain/webhooks/webhook-signature.ts";
import { changeTrigger, createTrigger, type TriggerDeps } from "../../../src/services/triggers/triggers.ts";
import { flow } from "../../engine/support.ts";
import { client, type Answer, type TestClient } from "../../support/client.ts";
import { eventually } from "../../support/scratch.ts";
import { monitorScheduleId, triggerScheduleId } from "../../../src/temporal/ids.ts";
import { withTemporal } from "../../support/histories.ts";
import { checkedClient } from "../http/conformance.ts";
import { echo, openTenant, slow, type ApiTenant } from "../tenant.ts";

const PATH = "/v2/triggers";
const UNKNOWN = "0197f0a0-0000-7000-8000-000000000000";
const EVERY_SECOND = { cron: "* * * * * *", overlap: "allow_all" };

let mine: ApiTenant;
let others: ApiTenant;
let viewer: TestClient;
let project_id: string;
beforeAll(async () => {
  [mine, others] = await Promise.all([openTenant(), openTenant()]);
  viewer = await mine.user("viewer");
  project_id = await mine.deploy(echo());
});

const of = (trigger_id: string, config: unknown, more: object = {}) => ({
  project_id,
  provider_id: trigger_id === "http.changed" ? "http" : "millrace",
  trigger_id,
  config,
  inputs: { "in-0": "'given'" },
  ...more,
});
async function create(trigger_id: string, config: unknown = {}, more: object = {}): Promise<Answer["body"]> {
  const { status, body } = await mine.secret.post(PATH, of(trigger_id, config, more));
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}
const runsOf = async (id: string): Promise<Answer["body"][]> => {
  const { body } = await mine.secret.get("/v2/runs", { query: { page_size: 200 } });
  return body.data.filter((run: { ran_by_id: string }) => run.ran_by_id === id);
};
const places = ({ status, body }: Answer): unknown => [
  status,
  body.detail?.map?.((each: { loc: unknown }) => each.loc),
];

describe("a trigger", () => {
  it("is created, read, listed, changed and deleted", async () => {
    const schedule = { cron: "0 9 * * mon-fri", time_zone: "Europe/Berlin" };
    const created = await mine.secret.post(
      PATH,
      of("schedule", schedule, { inputs: { "in-0": "payload.scheduled_at" } }),
    );
    const { address, ...trigger } = created.body;
    expect([created.status, address, trigger]).toEqual([
      201,
      null,
      {
        id: expect.any(String),
        project_id,
        environment: "production",
        provider_id: "millrace",
        trigger_id: "schedule",
        kind: "schedule",
        config: { ...schedule, overlap: "skip", catchup_window_seconds: 3600, jitter_seconds: 0 },
        inputs: { "in-0": "payload.scheduled_at" },
        enabled: true,
        last_fired_at: null,
        last_run_id: null,
        last_error: null,
        last_error_at: null,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        next_times: Array.from({ length: 5 }, () => expect.stringMatching(/T0[78]:00:00.000Z$/)),
        warnings: [],
      },
    ]);
    const path = `${PATH}/${trigger.id}`;
    expect(created.headers.get("location")).toBe(path);
    const read = await viewer.get(path);
    expect([read.body, read.headers.get("etag")]).toEqual([trigger, created.headers.get("etag")]);
    const page = await viewer.get(PATH, { query: { project_id, page_size: 1 } });
    const { next_times: _times, warnings: _warnings, ...listed } = trigger;
    expect(page.body.data).toEqual([listed]);
    const headers = { "If-Match": read.headers.get("etag") ?? "" };
    const changed = await mine.secret.patch(path, { enabled: false }, { headers });
    expect([changed.status, changed.body.enabled, changed.body.config]).toEqual([200, false, trigger.config]);
    expect((await mine.secret.patch(path, { enabled: true }, { headers })).status).toBe(412);
    expect((await mine.secret.delete(path)).status).toBe(204);
    const after = [await mine.secret.get(path), await mine.secret.patch(path, {}), await mine.secret.delete(path)];
    expect(after.map((each) => each.status)).toEqual([404, 404, 404]);
  });

  it("is created once per Idempotency-Key, with the same URL", async () => {
    const options = { headers: { "Idempotency-Key": "trigger-once" } };
    const [first, again] = [
      await mine.secret.post(PATH, of("webhook", {}), options),
      await mine.secret.post(PATH, of("webhook", {}), options),
    ];
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(first.body.address).toMatch(/^http.*\/hooks\/[A-Za-z0-9_-]{43}$/);
    expect((await mine.secret.get(`${PATH}/${first.body.id}`)).body).not.toHaveProperty("address");
  });

  const config = (member: string): unknown[] => ["body", "config", member];
  it.each([
    ["none", {}, {}, ["body", "trigger_id"]],
    ["schedule", {}, {}, config("cron")],
    ["schedule", { cron: "61 * * * *" }, {}, config("cron")],
    ["schedule", { cron: "* * *" }, {}, config("cron")],
    ["schedule", { cron: "@daily", time_zone: "Middle/Earth" }, {}, config("time_zone")],
    ["schedule", { cron: "@daily", overlap: "cancel" }, {}, config("overlap")],
    ["schedule", { cron: "@daily", every: 1 }, {}, config("every")],
    ["webhook", { verification: "github" }, {}, config("secret")],
    ["webhook", { verification: "standard_webhooks", secret: "no whsec" }, {}, config("secret")],
    // weak-key
    ["webhook", { verification: "standard_webhooks", secret: "whsec_AA==" }, {}, config("secret")],
    ["webhook", { verification: "standard_webhooks", secret: `whsec_${"A".repeat(30)}=` }, {}, config("secret")],
    ["run_event", { states: ["PAUSED"] }, {}, ["body", "config", "states", 0]],
    ["run_event", { project_id: UNKNOWN }, {}, config("project_id")],
    ["http.changed", { url: "file:///etc/passwd" }, {}, config("url")],
    ["http.changed", { url: "http://x.test/", json_path: "a.b" }, {}, config("json_path")],
    ["webhook", {}, { inputs: { "in-0": "payload." } }, ["body", "inputs", "in-0"]],
    ["webhook", {}, { inputs: { "in-0": "request.body" } }, ["body", "inputs", "in-0"]],
  ])("%s %j %j is rejected", async (trigger_id, settings, more, place) => {
    expect(places(await mine.secret.post(PATH, of(trigger_id, settings, more)))).toEqual([422, [place]]);
  });

  it("is hidden from other organisations and public keys", async () => {
    const { id } = await create("webhook");
    const all = async (api: TestClient, at: string): Promise<Answer[]> => [
      await api.get(PATH),
      await api.post(PATH, of("webhook", {})),
      await api.get(`${PATH}/${at}`),
      await api.patch(`${PATH}/${at}`, {}),
      await api.delete(`${PATH}/${at}`),
    ];
    const statuses = async (api: TestClient): Promise<number[]> => (await all(api, id)).map((each) => each.status);
    expect(await statuses(checkedClient(mine.target))).toEqual([401, 401, 401, 401, 401]);
    expect(await statuses(mine.public)).toEqual([403, 403, 403, 403, 403]);
    expect(await statuses(viewer)).toEqual([200, 403, 200, 403, 403]);
    const [theirs, unknown] = [await all(others.secret, id), await all(others.secret, UNKNOWN)];
    expect(theirs.map((each) => each.status)).toEqual([200, 404, 404, 404, 404]);
    expect(theirs.slice(2).map((each) => each.body.detail)).toEqual(unknown.slice(2).map((each) => each.body.detail));
  });
});

describe("schedules", () => {
  it("run a flow once at each time, and stop when disabled or deleted", async () => {
    const { id } = await create("schedule", EVERY_SECOND, { inputs: { "in-0": "payload.scheduled_at" } });
    const runs = await eventually("three runs", async () => {
      const found = await runsOf(id);
      return found.filter((run) => run.state === "COMPLETED").length >= 3 ? found : undefined;
    });
    expect(runs[0]).toMatchObject({ run_type: "scheduled", ran_by_type: "system", project_id });
    await mine.secret.patch(`${PATH}/${id}`, { enabled: false });
    // Counted now, because a run may have been created just before the trigger was disabled.
    const left = (await runsOf(id)).map((run) => run.inputs["in-0"]);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    const times = (await runsOf(id)).map((run) => run.inputs["in-0"]);
    expect(times.length - left.length).toBeLessThanOrEqual(1);
    expect(new Set(times).size).toBe(times.length);
    const seconds = times.map((time) => Date.parse(time) / 1000).toSorted((a, b) => a - b);
    expect(seconds.map((second) => second - (seconds[0] ?? 0))).toEqual(seconds.map((_, index) => index));
    const { body } = await mine.secret.get(`${PATH}/${id}`);
    expect([body.last_error, times.length]).toEqual([null, expect.any(Number)]);
    expect((await mine.secret.delete(`${PATH}/${id}`)).status).toBe(204);
  });

  it("skip a time while a run is in progress, unless configured otherwise", async () => {
    const waiting = await mine.deploy(slow(60));
    const { id } = await create("schedule", { cron: "* * * * * *" }, { project_id: waiting });
    await eventually("a run", async () => (await runsOf(id)).length > 0);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const runs = await runsOf(id);
    expect(runs).toHaveLength(1);
    expect((await mine.secret.delete(`${PATH}/${id}`)).status).toBe(204);
    await mine.secret.post(`/v2/runs/${runs[0].run_id}/cancel`, {});
  });

  it("have the same settings in Temporal, also after changes, in the intended time zone", async () => {
    const { id, config } = await create("schedule", { cron: "0 9 * * *", time_zone: "europe/berlin" });
    expect(config.time_zone).toBe("Europe/Berlin");
    const alias = await create("schedule", { cron: "0 9 * * *", time_zone: "Asia/Kathmandu" });
    expect([alias.config.time_zone, alias.last_error]).toEqual(["Asia/Kathmandu", null]);
    const { body } = await mine.secret.patch(`${PATH}/${id}`, {
      config: { cron: "30 8 * * *", time_zone: "Asia/tokyo", overlap: "buffer_one", jitter_seconds: 7 },
      enabled: false,
    });
    expect([body.config.time_zone, body.last_error]).toEqual(["Asia/Tokyo", null]);
    await withTemporal(mine.target.temporalAddress, async (temporal) => {
      const { spec, policies, state } = await temporal.schedule.getHandle(triggerScheduleId(id)).describe();
      expect([spec.timezone, policies.overlap, spec.jitter, state.paused]).toEqual([
        "Asia/Tokyo",
        "BUFFER_ONE",
        7000,
        true,
      ]);
      expect(spec.calendars?.map(({ hour, minute }) => [hour, minute])).toMatchObject([
        [[{ start: 8 }], [{ start: 30 }]],
      ]);
    });
    await mine.secret.delete(`${PATH}/${id}`);
  });

  it("report that Temporal rejects them, stop asking, and no longer run with the old settings", async () => {
    const { id } = await create("schedule", EVERY_SECOND, { inputs: { "in-0": "payload.scheduled_at" } });
    const query = (text: string): Promise<Record<string, unknown>[]> =>
      mine.withDatabase((database) => database.system((db) => db.query(text, [id])));
    // A configuration that only an earlier version accepted.
    await query(
      `update triggers set config = config || '{"time_zone": "Middle/Earth"}', revision = revision + 1 where id = $1`,
    );
    const error = await eventually("the refusal", async () => {
      const { body } = await mine.secret.get(`${PATH}/${id}`);
      return body.last_error ?? undefined;
    });
    expect(error).toContain("Temporal rejected the schedule: ");
    expect(error).toMatch(/Middle.Earth|time ?zone/i);
    const [row] = await query(
      "select applied_revision = revision as settled, last_error_at from triggers where id = $1",
    );
    expect(row).toMatchObject({ settled: true });
    await withTemporal(mine.target.temporalAddress, (temporal) =>
      expect(temporal.schedule.getHandle(triggerScheduleId(id)).describe()).rejects.toThrow(/not found/i),
    );
    const change = (config: object) => mine.secret.patch(`${PATH}/${id}`, { config });
    expect(places(await change({ cron: "@yearly" }))).toEqual([422, [["body", "config", "time_zone"]]]);
    expect((await change({ cron: "@yearly", time_zone: "UTC" })).body.last_error).toBeNull();
    await mine.secret.delete(`${PATH}/${id}`);
  });

  it("wait while the run limit is reached, and report it only as long as they wait", async () => {
    const limited = await mine.deploy({ ...slow(600), settings: { max_concurrent_runs: 1 } });
    const { body: other } = await mine.secret.post("/v2/runs", { project_id: limited, inputs: {} });
    const { id } = await create("schedule", { cron: "* * * * * *" }, { project_id: limited, inputs: {} });
    const waiting = await eventually("an error", async () => {
      const { body } = await mine.secret.get(`${PATH}/${id}`);
      return body.last_error === null ? undefined : body;
    });
    expect(waiting.last_error).toContain("unfinished runs of this flow is 1,");
    expect([waiting.last_run_id, waiting.last_fired_at]).toEqual([null, null]);
    await mine.secret.post(`/v2/runs/${other.run_id}/cancel`, { mode: "terminate" });
    const started = await eventually("a run", async () => {
      const { body } = await mine.secret.get(`${PATH}/${id}`);
      return body.last_error === null && body.last_run_id !== null ? body : undefined;
    });
    const run = await mine.secret.get(`/v2/runs/${started.last_run_id}`);
    expect([run.status, run.body.ran_by_id]).toEqual([200, id]);
    expect((await mine.secret.delete(`${PATH}/${id}`)).status).toBe(204);
    await mine.secret.post(`/v2/runs/${started.last_run_id}/cancel`, { mode: "terminate" });
  });

  it("report why they start no run", async () => {
    const { id } = await create("schedule", EVERY_SECOND, { inputs: { "in-0": "payload.no_such" } });
    const trigger = await eventually("an error", async () => {
      const { body } = await mine.secret.get(`${PATH}/${id}`);
      return body.last_error === null ? undefined : body;
    });
    expect(trigger.last_error).toContain("no_such");
    expect(await runsOf(id)).toEqual([]);
    await mine.secret.delete(`${PATH}/${id}`);
  });
});

describe("a trigger before it fires", () => {
  it("shows the next times of its schedule, and warns of ambiguous ones", async () => {
    const { id, next_times, warnings } = await create("schedule", { cron: "0 9 13 * fri" });
    expect(warnings).toEqual([expect.stringContaining("both match")]);
    expect(next_times).toHaveLength(5);
    for (const time of next_times.map((each: string) => new Date(each)))
      expect([time.getUTCDate(), time.getUTCDay(), time.getUTCHours()]).toEqual([13, 5, 9]);
    const { body } = await mine.secret.patch(`${PATH}/${id}`, { config: { cron: "0 9 1 1 *" } });
    expect([body.warnings, body.next_times[0]]).toEqual([[], expect.stringMatching(/-01-01T09:00:00.000Z$/)]);
    const never = await mine.secret.patch(`${PATH}/${id}`, { config: { cron: "0 9 30,31 feb *" } });
    expect(never.body.warnings).toEqual([expect.stringContaining("never fires")]);
    expect((await mine.secret.patch(`${PATH}/${id}`, { enabled: false })).body.next_times).toEqual([]);
    expect((await create("webhook")).next_times).toBeNull();
  });

  it("rejects inputs that the published flow does not accept, and missing ones", async () => {
    const bad = { inputs: { "in-9": "payload.body" } };
    const wrong = [
      ["body", "inputs", "in-9"],
      ["body", "inputs", "in-0"],
    ];
    expect(places(await mine.secret.post(PATH, of("webhook", {}, bad)))).toEqual([422, wrong]);
    const { id } = await create("webhook");
    const removing = { inputs: { ...bad.inputs, "in-0": null } };
    expect(places(await mine.secret.patch(`${PATH}/${id}`, removing))).toEqual([422, wrong]);
  });

  it("can be tested with a sample or a given payload", async () => {
    const { id } = await create("webhook", {}, { inputs: { "in-0": "payload.body.order.id" }, enabled: false });
    const sample = await mine.secret.post(`${PATH}/${id}/test`, {});
    expect([sample.status, sample.body.payload.body]).toEqual([202, { order: { id: 17 } }]);
    const run = await mine.until(sample.body.run_id, "COMPLETED");
    expect([run.ran_by_id, run.inputs]).toEqual([id, { "in-0": "17" }]);
    const own = await mine.secret.post(`${PATH}/${id}/test`, { payload: { body: { order: { id: "A" } } } });
    expect((await mine.until(own.body.run_id, "COMPLETED")).outputs).toEqual({ "out-0": "A" });
    expect(places(await mine.secret.post(`${PATH}/${id}/test`, { payload: {} }))).toEqual([422, [["body", "payload"]]]);
    expect((await viewer.post(`${PATH}/${id}/test`, {})).status).toBe(403);
    expect((await others.secret.post(`${PATH}/${id}/test`, {})).status).toBe(404);
  });
});

describe("deleting a project", () => {
  it("also deletes its triggers and monitors", async () => {
    const doomed = await mine.deploy(echo());
    const more = { project_id: doomed, inputs: { "in-0": "'x'" } };
    const hook = await create("webhook", {}, more);
    const schedule = await create("schedule", { cron: "@yearly" }, more);
    const { body: evaluator } = await mine.secret.post("/v2/evals/evaluators", {
      name: "same",
      type: "error_free",
      config: {},
    });
    const monitor = await mine.secret.post("/v2/evals/monitors", {
      name: "watch",
      project_id: doomed,
      evaluator_ids: [evaluator.evaluator_id],
      sampling_rate: 1,
    });
    expect(monitor.status, JSON.stringify(monitor.body)).toBe(201);
    expect((await mine.secret.delete(`/v2/projects/${doomed}`)).status).toBe(204);
    const gone = [
      await mine.secret.get(`${PATH}/${schedule.id}`),
      await mine.secret.get(`/v2/evals/monitors/${monitor.body.monitor_id}`),
      await client(mine.target).post(new URL(hook.address).pathname, {}),
      await mine.secret.post(PATH, of("webhook", {}, more)),
    ];
    expect(gone.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    await withTemporal(mine.target.temporalAddress, async (temporal) => {
      const ids = [triggerScheduleId(schedule.id), monitorScheduleId(monitor.body.monitor_id)];
      for (const id of ids)
        await expect
          .poll(() =>
            temporal.schedule
              .getHandle(id)
              .describe()
              .catch((error: Error) => error.name),
          )
          .toBe("ScheduleNotFoundError");
    });
  });
});

describe("trigger-forgery: inbound webhooks", () => {
  const secret = `whsec_${Buffer.from("a secret of the sender, long enough").toString("base64")}`;
  const now = (): number => Math.floor(Date.now() / 1000);
  const inputs = { "in-0": "payload.body.order" };
  const text = (order: string): string => JSON.stringify({ order });
  const post = async (address: string, body: string, headers: Record<string, string> = {}): Promise<Answer> =>
    checkedClient({ url: mine.target.url }).post(new URL(address).pathname, body, {
      headers: { "content-type": "application/json", ...headers },
    });
  const standard = (id: string, body: string, timestamp = now()): Record<string, string> => ({
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signWebhook({ id, timestamp, body }, [secret]),
  });
  const hex = (signed: string): string => createHmac("sha256", secret).update(signed).digest("hex");
  const github = (body: string): Record<string, string> => ({ "x-hub-signature-256": `sha256=${hex(body)}` });
  const stripe = (body: string, time = now()): Record<string, string> => ({
    "stripe-signature": `t=${time},v1=${"0".repeat(64)},v1=${hex(`${time}.${body}`)}`,
  });

  it("start a run from body, headers and query of a request", async () => {
    const { address, id } = await create("webhook", {}, { inputs: { "in-0": "payload" } });
    const kept = {
      authorization: "Bearer own-secret",
      "proxy-authorization": "Basic own-secret",
      cookie: "session=own-secret",
      "x-hub-signature-256": "sha256=own-secret",
      "x-gitlab-token": "own-secret",
      "x-api-key": "own-secret",
      "x-auth-token": "own-secret",
      "x-telegram-bot-api-secret-token": "own-secret",
      "x-shop-hmac-sha256": "own-secret",
      "x-webhook-secret": "own-secret",
      "x-functions-key": "own-secret",
      "ocp-apim-subscription-key": "own-secret",
      apikey: "own-secret",
    };
    const headers = { "x-kind": "new", ...kept };
    const answer = await client(mine.target).post(`${new URL(address).pathname}?q=1`, text("A17"), {
      headers: { ...headers, "content-type": "application/json" },
    });
    expect([answer.status, Object.keys(answer.body)]).toEqual([202, ["run_id"]]);
    const run = await mine.until(answer.body.run_id, "COMPLETED");
    expect(run).toMatchObject({ run_type: "trigger", ran_by_id: id });
    const payload = { body: { order: "A17" }, headers: { "x-kind": "new" }, query: { q: "1" } };
    expect(JSON.parse(run.outputs["out-0"])).toMatchObject(payload);
    expect(run.outputs["out-0"]).not.toContain("own-secret");
    expect((await mine.secret.get(`${PATH}/${id}`)).body).toMatchObject({ last_run_id: run.run_id });
  });

  it("proto-pollution: reject a form with a field name that JSON rejects, or with bytes that are not text", async () => {
    const { address, id } = await create("webhook", {}, { inputs: { "in-0": "payload.body" } });
    const form = { "content-type": "application/x-www-form-urlencoded" };
    for (const [body, loc] of [
      ["__proto__=1&order=A", ["body", "__proto__"]],
      ["__pr%6fto__=1&order=A", ["body", "__proto__"]],
      ["order=caf%e9", ["body"]],
      ["order=%F0%9F%98", ["body"]],
    ] as const) {
      const answer = await post(address, body, form);
      expect([answer.status, answer.body.detail[0].loc], body).toEqual([422, loc]);
    }
    expect((await mine.secret.get(`${PATH}/${id}`)).body).toMatchObject({ last_run_id: null });
    const taken = await post(address, "constructor=B&order=caf%C3%A9+100%25&rate=5%&share=%zz", form);
    const { outputs } = await mine.until(taken.body.run_id, "COMPLETED");
    expect(JSON.parse(outputs["out-0"])).toEqual({ constructor: "B", order: "café 100%", rate: "5%", share: "%zz" });
  });

  it.each([
    ["JSON", "application/json", '{"order":"A\\u0000B"}'],
    ["the name of a member of JSON", "application/json", '{"or\\u0000der":"A"}'],
    ["a form", "application/x-www-form-urlencoded", "order=A%00B"],
    ["the name of a field of a form", "application/x-www-form-urlencoded", "or%00der=A"],
    ["a text", "text/plain", "A\0B"],
  ])("reject, without changing it, %s with a character that cannot be stored", async (_, type, body) => {
    const { address, id } = await create("webhook", {}, { inputs });
    const answer = await post(address, body, { "content-type": type });
    expect([answer.status, answer.body.detail[0].type]).toEqual([422, "string_unicode"]);
    expect(answer.body.detail[0].msg).toContain("U+0000");
    expect((await mine.secret.get(`${PATH}/${id}`)).body).toMatchObject({ last_run_id: null });
  });

  it.each([
    [
      "standard_webhooks",
      (body: string) => standard(`msg_${body.length}`, body),
      (body: string) => standard("old", body, now() - 600),
    ],
    ["github", github, null],
    ["stripe", stripe, (body: string) => stripe(body, now() - 600)],
  ] as const)(
    "%s: a signed request starts one run however often it is sent, a forged or stale one starts none",
    async (verification, sign, stale) => {
      const { address, id, config } = await create("webhook", { verification, secret }, { inputs });
      expect(config).toEqual({ verification });
      const body = text(verification);
      const first = await post(address, body, sign(body));
      const again = await post(address, body, sign(body));
      expect([first.status, again.status, again.body, again.headers.get("idempotent-replayed")]).toEqual([
        202,
        202,
        first.body,
        "true",
      ]);
      const other = text("another");
      const refused = [
        await post(address, other),
        await post(address, other, sign(body)),
        await post(address, `${body} `, sign(body)),
        ...(stale ? [await post(address, other, stale(other))] : []),
      ];
      expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 401));
      expect(JSON.stringify(refused.map((each) => each.body))).not.toContain("another");
      expect((await post(address, other, sign(other))).body.run_id).not.toBe(first.body.run_id);
      expect(await runsOf(id)).toHaveLength(2);
      // A change without a secret keeps the earlier one.
      const changed = await mine.secret.patch(`${PATH}/${id}`, { config: { verification } });
      expect([changed.status, (await post(address, body, sign(body))).status]).toEqual([200, 202]);
    },
  );

  it("reject long bodies, invalid JSON, missing inputs and unknown URLs, without repeating any content", async () => {
    const { address, id } = await create("webhook", {}, { inputs });
    const long = await post(address, JSON.stringify({ order: "long-order".repeat(200_000) }));
    const bad = await post(address, '{"order": "unquoted-order');
    const plain = await post(address, "plain-order", { "content-type": "application/pdf" });
    const none = await post(address, '{"purchase": "no-order"}');
    expect([long.status, bad.status, plain.status, none.status]).toEqual([413, 422, 415, 422]);
    for (const type of ["application/json", "application/x-www-form-urlencoded", "text/*", "XML"])
      expect(plain.body.detail).toContain(type);
    expect(JSON.stringify([long, bad, plain, none].map(({ body }) => body))).not.toMatch(/\w+-order/);
    expect((await mine.secret.get(`${PATH}/${id}`)).body.last_error).toContain("order");
    const unknown = [`${"A".repeat(43)}`, "x", "..%2f..", `${new URL(address).pathname.slice(7)}A`];
    for (const token of unknown) expect((await post(`http://x/hooks/${token}`, "{}")).status, token).toBe(404);
    await mine.secret.patch(`${PATH}/${id}`, { enabled: false });
    expect((await post(address, text("disabled"))).status).toBe(409);
    await mine.secret.delete(`${PATH}/${id}`);
    expect((await post(address, text("deleted"))).status).toBe(404);
    expect(await runsOf(id)).toEqual([]);
  });

  it("accept forms and text", async () => {
    const { address } = await create("webhook", {}, { inputs: { "in-0": "payload.body" } });
    const seen = async (body: string, type: string): Promise<unknown> => {
      const { status, body: answer } = await post(address, body, { "content-type": type });
      expect([type, status]).toEqual([type, 202]);
      return (await mine.until(answer.run_id, "COMPLETED")).outputs["out-0"];
    };
    const form = "a=1&b=x+y&b=%C3%A9";
    expect(JSON.parse(String(await seen(form, "application/x-www-form-urlencoded")))).toEqual({
      a: "1",
      b: ["x y", "é"],
    });
    expect(await seen("hello", "text/plain; charset=utf-8")).toBe("hello");
    expect(await seen("<a/>", "application/xml")).toBe("<a/>");
  });

  it("return a sender's challenge only if the trigger has its handshake", async () => {
    const api = client(mine.target);
    const made = async (config: object): Promise<string> => new URL((await create("webhook", config)).address).pathname;
    const [slack, graph, meta, open, none] = [
      await made({ handshake: "slack" }),
      await made({ handshake: "microsoft_graph" }),
      await made({ handshake: "meta", secret: "verify-me-please" }),
      await made({ handshake: "meta" }),
      await made({}),
    ];
    const body = { type: "url_verification", challenge: "c-123" };
    const asked = await api.post(slack, body);
    expect([asked.status, asked.body, asked.headers.get("content-type")]).toEqual([
      200,
      "c-123",
      "text/plain; charset=utf-8",
    ]);
    expect((await api.post(`${graph}?validationToken=t%201`, {})).body).toBe("t 1");
    const question = "hub.mode=subscribe&hub.challenge=42&hub.verify_token=";
    expect((await api.get(`${meta}?${question}verify-me-please`)).body).toBe("42");
    expect((await api.get(`${meta}?${question}another`)).status).toBe(403);
    expect((await api.get(`${none}?${question}`)).status).toBe(403);
    // Without a secret, no one can answer the challenge correctly.
    for (const asks of [question, question.replace("&hub.verify_token=", "")])
      expect((await api.get(`${open}?${asks}`)).status).toBe(403);
    // A value that is not a valid challenge is never returned.
    const script = { ...body, challenge: "<script>\n" };
    const started = [await api.post(slack, script), await api.post(none, body)];
    expect(started.map((each) => [each.status, Object.keys(each.body)])).toEqual([
      [202, ["run_id"]],
      [202, ["run_id"]],
    ]);
  });

  it("store neither the URL nor the secret in plaintext", async () => {
    const { address, id } = await create("webhook", { verification: "github", secret });
    const [row] = await mine.withDatabase((database) =>
      database.system((db) =>
        db.query<{ row: string }>("select to_jsonb(t)::text as row from triggers t where id = $1", [id]),
      ),
    );
    expect(row?.row).toContain("webhook");
    for (const hidden of [address.split("/").at(-1), secret, Buffer.from(secret).toString("hex")])
      expect(row?.row).not.toContain(hidden);
  });
});

describe("run events", () => {
  it("start a flow when a run of another flow finishes, with its outputs", async () => {
    const source = await mine.deploy(echo());
    const inputs = { "in-0": "payload.state + ' ' + payload.environment + ' ' + payload.outputs['out-0']" };
    expect((await mine.secret.put(`/v2/projects/${source}/environments/staging`, { version: 1 })).status).toBe(200);
    const { id } = await create("run_event", { project_id: source }, { inputs });
    const { id: failures } = await create("run_event", { project_id: source, states: ["FAILED"] }, { inputs });
    const wanted = { project_id: source, environment: "staging", inputs: { "in-0": "Ada" } };
    const { body: run } = await mine.secret.post("/v2/runs", wanted);
    const [made] = await eventually("a run", async () => {
      const found = await runsOf(id);
      return found[0]?.state === "COMPLETED" ? found : undefined;
    });
    expect(made).toMatchObject({ run_type: "trigger", inputs: { "in-0": "COMPLETED staging Ada" } });
    expect(made.run_id).not.toBe(run.run_id);
    expect(await runsOf(failures)).toEqual([]);
    const long = await mine.secret.post("/v2/runs", { project_id: source, inputs: { "in-0": "x".repeat(50_000) } });
    const runs = await eventually("a second run", async () => {
      const found = await runsOf(id);
      return found.length === 2 && found.every(({ state }) => state === "COMPLETED") ? found : undefined;
    });
    const whole = await mine.secret.get(`/v2/runs/${runs[0].run_id}`);
    expect([long.status, whole.body.outputs["out-0"].length]).toEqual([201, "COMPLETED production ".length + 50_000]);
    await mine.secret.delete(`${PATH}/${id}`);
  });

  it("stop when runs start each other without end", async () => {
    const loop = await mine.deploy(echo());
    const inputs = { "in-0": "'again'" };
    const { id } = await create("run_event", { project_id: loop }, { project_id: loop, inputs });
    await mine.secret.post("/v2/runs", { project_id: loop, inputs: { "in-0": "first" } });
    const { last_error } = await eventually("the guard", async () => {
      const { body } = await mine.secret.get(`${PATH}/${id}`);
      return body.last_error === null ? undefined : body;
    });
    expect(last_error).toContain("more than 8 nested runs");
    expect(await runsOf(id)).toHaveLength(8);
  });

  it("stop when a flow starts itself with an action", async () => {
    const loop = await mine.deploy(echo());
    const itself = flow(
      [
        { id: "in-0", type: "input" },
        {
          id: "act-0",
          type: "action",
          config: {
            provider_id: "millrace",
            action_id: "start_run",
            inputs: { project_id: loop, inputs: { "in-0": "again" } },
          },
        },
        { id: "out-0", type: "output" },
      ],
      ["in-0>act-0", "act-0>out-0"],
    );
    expect((await mine.secret.post(`/v2/projects/${loop}/versions`, { flow: itself })).status).toBe(201);
    await mine.secret.post("/v2/runs", { project_id: loop, inputs: { "in-0": "first" } });
    const failed = await eventually("the guard", async () => {
      const { body } = await mine.secret.get("/v2/runs", { query: { project_id: loop, state: "FAILED" } });
      return body.data[0];
    });
    expect(failed.error.code).toBe("too_many_nested_runs");
    const { body: all } = await mine.secret.get("/v2/runs", { query: { project_id: loop } });
    expect(all.data).toHaveLength(9);
  });
});

describe("the limits of triggers", () => {
  it("reject triggers over the organisation's limit, too frequent schedules and unknown projects", async () => {
    const { body: limits } = await mine.secret.get("/v2/limits");
    expect(limits.triggers).toBe(20_000);
    await mine.withDatabase(async (db) => {
      const config = { MILLRACE_TASK_QUEUE: "none", MILLRACE_MAX_TRIGGERS: 0, MILLRACE_MIN_SCHEDULE_SECONDS: 10 };
      const deps = { config, db } as unknown as TriggerDeps;
      const type = findTriggerType("millrace", "run_event");
      if (type === undefined) throw new Error("there is such a trigger");
      const audited = { audit: async () => undefined, view: () => ({}) };
      const owner: Principal = {
        org_id: mine.org_id,
        type: "org_api_key",
        id: UNKNOWN,
        access: "secret",
        role: "admin",
      };
      const wanted = {
        id: UNKNOWN,
        org_id: mine.org_id,
        project_id,
        environment: "production",
        type,
        inputs: { "in-0": "'x'" },
        enabled: true,
        setBy: owner,
        requireHeld: async () => undefined,
        audited,
      };
      await expect(createTrigger(deps, { ...wanted, config: {} })).rejects.toMatchObject({ code: "conflict" });
      const schedule = findTriggerType("millrace", "schedule");
      if (schedule === undefined) throw new Error("there is such a trigger");
      const often = { ...wanted, type: schedule, config: { cron: "*/5 * * * * *" } };
      await expect(createTrigger(deps, often)).rejects.toThrow("less than 10 seconds apart");
      const { id } = await create("schedule", { cron: "0 0 9 * * *" });
      const frequent = { cron: "0,9 * * * * *" };
      const read = (_type: unknown, whole: JsonObject) => whole;
      const change = changeTrigger(deps, owner, id, { config: frequent }, read, () => undefined, audited);
      await expect(change).rejects.toThrow("less than 10 seconds apart");
    });
    const { id } = await create("run_event", { project_id });
    const patched = await mine.secret.patch(`${PATH}/${id}`, { config: { project_id: UNKNOWN } });
    expect(places(patched)).toEqual([422, [["body", "config", "project_id"]]]);
  });
});
