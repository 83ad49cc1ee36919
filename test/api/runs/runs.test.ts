import { beforeAll, describe, expect, it } from "vitest";
import { flow, nested } from "../../engine/support.ts";
import { eventsOf, type ServerSentEvent } from "./streams.ts";
import { asking, echo, failing, openTenant, problemText, slow, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
let project_id: string;
const UNKNOWN = "0197f0a0-0000-7000-8000-000000000000";

beforeAll(async () => {
  tenant = await openTenant();
  project_id = await tenant.deploy(echo());
});

const create = (more: Record<string, unknown> = {}) =>
  tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "Ada" }, ...more });

describe("creating a run", () => {
  it("returns it immediately, with its URL", async () => {
    const { status, body, headers } = await create({
      user_id: "ada-1",
      metadata: { order: 17 },
      tags: ["a", "b", "a"],
    });
    expect(status).toBe(201);
    expect(headers.get("location")).toBe(`/v2/runs/${body.run_id}`);
    expect(body).toMatchObject({
      project_id,
      flow_version: 1,
      state: "PENDING",
      inputs: { "in-0": "Ada" },
      outputs: null,
      error: null,
      pauses: [],
      run_type: "api",
      ran_by_type: "org_api_key",
      user_id: "ada-1",
      parent_run_id: null,
      resumed_from: null,
      metadata: { order: 17 },
      tags: ["a", "b"],
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0, cost_usd: 0, estimated: false },
      latency_ms: null,
      queued_ms: null,
      temporal: { workflow_id: `run-${body.run_id}` },
    });
    const ended = await tenant.until(body.run_id, "COMPLETED");
    expect(ended).toMatchObject({ outputs: { "out-0": "Ada" }, progress_data: { total_nodes: 2, completed_nodes: 2 } });
    const at = (time: string): number => Date.parse(time);
    expect(ended.latency_ms).toBe(Math.max(0, at(ended.finished_at) - at(ended.started_at)));
    expect(ended.queued_ms).toBe(Math.max(0, at(ended.started_at) - at(ended.created_at)));
    expect(ended.temporal.run_id).not.toBeNull();
  });

  it("with mode sync returns it when it has finished, even if it failed", async () => {
    expect((await create({ mode: "sync" })).body).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "Ada" } });
    const failed = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(failing()),
      inputs: {},
      mode: "sync",
    });
    expect([failed.status, failed.body.state, failed.body.error.code]).toEqual([201, "FAILED", "guard_failed"]);
    const paused = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(asking()),
      inputs: {},
      mode: "sync",
    });
    expect([paused.status, paused.body.state, paused.body.pauses[0].status]).toEqual([201, "PAUSED", "waiting"]);
  });

  it("with mode sync waits no longer than requested", async () => {
    const start = Date.now();
    const { status, body } = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(slow(60)),
      inputs: {},
      mode: "sync",
      wait_seconds: 1,
    });
    expect([status, ["PENDING", "RUNNING"].includes(body.state)]).toEqual([201, true]);
    expect(Date.now() - start).toBeLessThan(20_000);
    await tenant.secret.post(`/v2/runs/${body.run_id}/cancel`, { mode: "terminate" });
  });

  it("accepts the flow under either field name", async () => {
    const { status } = await tenant.secret.post("/v2/runs", { flow_id: project_id, inputs: { "in-0": "x" } });
    expect(status).toBe(201);
    const both = await tenant.secret.post("/v2/runs", { flow_id: project_id, project_id, inputs: { "in-0": "x" } });
    expect(both.status).toBe(201);
  });

  it("starts it at its time, not before", async () => {
    const run_at = new Date(Date.now() + 1500).toISOString();
    const { status, body } = await create({ run_at });
    expect([status, body.state, body.run_at]).toEqual([201, "PENDING", run_at]);
    const run = await tenant.until(body.run_id, "COMPLETED");
    expect(Date.parse(run.started_at)).toBeGreaterThanOrEqual(Date.parse(run_at) - 50);
    expect(run.latency_ms).toBeLessThanOrEqual(Date.parse(run.finished_at) - Date.parse(run_at) + 50);
  });

  it("fails it at its own timeout", async () => {
    const { body } = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(slow(60)),
      inputs: {},
      timeout_seconds: 1,
      mode: "sync",
    });
    expect(body).toMatchObject({ state: "FAILED", error: { code: "run_timeout" }, timeout_seconds: 1 });
  });

  it.each([
    ["no flow", { project_id: undefined }, ["body", "project_id"]],
    ["two flows", { flow_id: UNKNOWN }, ["body", "flow_id"]],
    ["no inputs", { inputs: undefined }, ["body", "inputs"]],
    ["inputs that are no object", { inputs: ["x"] }, ["body", "inputs"]],
    ["a missing input", { inputs: {} }, ["body", "inputs", "in-0"]],
    ["an input of the wrong type", { inputs: { "in-0": { a: 1 } } }, ["body", "inputs", "in-0"]],
    ["a version that is no number", { version: "1" }, ["body", "version"]],
    ["an unknown mode", { mode: "later" }, ["body", "mode"]],
    ["wait_seconds without sync", { wait_seconds: 3 }, ["body", "wait_seconds"]],
    ["a time in the past", { run_at: "2020-01-01T00:00:00Z" }, ["body", "run_at"]],
    ["a time far ahead", { run_at: "2199-01-01T00:00:00Z" }, ["body", "run_at"]],
    ["a time without a zone", { run_at: "2099-01-01T00:00:00" }, ["body", "run_at"]],
    ["no time to run in", { timeout_seconds: 0 }, ["body", "timeout_seconds"]],
    ["more time than allowed", { timeout_seconds: 2_592_001 }, ["body", "timeout_seconds"]],
    ["metadata that are no object", { metadata: [] }, ["body", "metadata"]],
    ["metadata over 16 KiB", { metadata: { a: "x".repeat(16_384) } }, ["body", "metadata"]],
    ["21 tags", { tags: Array.from({ length: 21 }, (_, i) => `t${i}`) }, ["body", "tags"]],
    ["a tag of 65 characters", { tags: ["x".repeat(65)] }, ["body", "tags", 0]],
    ["an empty tag", { tags: [""] }, ["body", "tags", 0]],
    ["a user_id with a line break", { user_id: "a\nb" }, ["body", "user_id"]],
    ["a member we do not know", { node: {} }, ["body", "node"]],
    ["a flow of its own (run-carries-code)", { flow: { nodes: [] } }, ["body", "flow"]],
  ])("returns 422 for %s", async (_, more, loc) => {
    const { status, body } = await create(more);
    expect(status).toBe(422);
    expect(body.detail.map((issue: { loc: unknown }) => issue.loc)).toContainEqual(loc);
  });

  it("returns 404 for an unknown flow, another organisation's flow and an unknown version", async () => {
    const other = await openTenant(tenant.target);
    const foreign = await other.deploy(echo());
    const answers = [await create({ project_id: UNKNOWN }), await create({ project_id: foreign })];
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    expect(new Set(answers.map(problemText)).size).toBe(1);
    expect((await create({ version: 7 })).body.code).toBe("flow_version_not_found");
  });

  it("is allowed for secret keys and editors", async () => {
    const given = { project_id, inputs: { "in-0": "x" } };
    expect((await tenant.public.post("/v2/runs", given)).status).toBe(403);
    expect((await (await tenant.user("viewer")).post("/v2/runs", given)).status).toBe(403);
    expect((await (await tenant.user("editor")).post("/v2/runs", given)).status).toBe(201);
  });

  it("creates one run per Idempotency-Key", async () => {
    const options = { headers: { "idempotency-key": crypto.randomUUID() } };
    const given = { project_id, inputs: { "in-0": "once" } };
    const answers = await Promise.all(Array.from({ length: 20 }, () => tenant.secret.post("/v2/runs", given, options)));
    const again = await tenant.secret.post("/v2/runs", given, options);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
    const ids = answers.filter(({ status }) => status === 201).map(({ body }) => body.run_id);
    expect(new Set([...ids, again.body.run_id]).size).toBe(1);
  });

  it("is rejected at the flow's max_concurrent_runs, and creates no run then", async () => {
    const limited = await tenant.deploy({ ...slow(60), settings: { max_concurrent_runs: 2 } });
    const given = { project_id: limited, inputs: {} };
    const first = [await tenant.secret.post("/v2/runs", given), await tenant.secret.post("/v2/runs", given)];
    const third = await tenant.secret.post("/v2/runs", given);
    expect([third.status, third.body.code, third.headers.get("retry-after")]).toEqual([
      429,
      "too_many_concurrent_runs",
      "5",
    ]);
    for (const { body } of first) await tenant.secret.post(`/v2/runs/${body.run_id}/cancel`, { mode: "terminate" });
    expect((await tenant.secret.post("/v2/runs", given)).status).toBe(201);
  });

  it("respects the limit under simultaneous requests, and still finds an existing run by its key", async () => {
    const limited = await tenant.deploy({ ...slow(60), settings: { max_concurrent_runs: 3 } });
    const given = { project_id: limited, inputs: {} };
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        tenant.secret.post("/v2/runs", given, { headers: { "idempotency-key": `at-once-${n}` } }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, ...Array(27).fill(429)]);
    const { body } = await tenant.secret.get("/v2/runs", { query: { project_id: limited } });
    expect(body.data).toHaveLength(3);
    for (const [n, answer] of answers.entries()) {
      if (answer.status !== 201) continue;
      const again = await tenant.secret.post("/v2/runs", given, { headers: { "idempotency-key": `at-once-${n}` } });
      expect([again.status, again.body.run_id]).toEqual([201, answer.body.run_id]);
    }
    for (const { run_id } of body.data) await tenant.secret.post(`/v2/runs/${run_id}/cancel`, { mode: "terminate" });
  });
});

describe("getting a run", () => {
  it("waits until it is finished, if requested", async () => {
    const { body } = await tenant.secret.post("/v2/runs", { project_id: await tenant.deploy(slow(2)), inputs: {} });
    const start = Date.now();
    const short = await tenant.secret.get(`/v2/runs/${body.run_id}`, { query: { wait_seconds: 0 } });
    expect(short.body.finished_at).toBeNull();
    const long = await tenant.secret.get(`/v2/runs/${body.run_id}`, { query: { wait_seconds: 60 } });
    expect(long.body.state).toBe("COMPLETED");
    expect(Date.now() - start).toBeLessThan(45_000);
  });

  it("shows its nodes with expand=nodes, the top level first", async () => {
    const inner = nested(
      [
        { id: "tpl-0", type: "template", config: { template: "{{item}}!" } },
        { id: "o", type: "output" },
      ],
      ["tpl-0>o"],
    );
    const mapped = await tenant.deploy(
      flow(
        [
          { id: "map-0", type: "map", config: { items: '["a", "b"]', flow: inner } },
          { id: "out-0", type: "output" },
        ],
        ["map-0>out-0"],
      ),
    );
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id: mapped, inputs: {}, mode: "sync" });
    expect(run).not.toHaveProperty("nodes");
    const { body } = await tenant.secret.get(`/v2/runs/${run.run_id}`, { query: { expand: "nodes" } });
    expect(body.nodes_truncated).toBe(false);
    const paths = body.nodes.map((node: { path: string }) => node.path);
    expect(paths.slice(0, 2).toSorted()).toEqual(["map-0", "out-0"]);
    expect(paths).toContain("map-0[1]/tpl-0");
    expect(body.nodes[0]).toMatchObject({ state: "COMPLETED", attempts: 1, error: null, truncated: false });
  });

  it("shows long outputs whole and long inputs shortened; lists shorten both", async () => {
    const long = "long ".repeat(40_000);
    const { body: run } = await create({ inputs: { "in-0": long }, mode: "sync" });
    const shortened = { $truncated: true, size: long.length + 2, preview: expect.stringMatching(/^"long long/) };
    const { body } = await tenant.secret.get(`/v2/runs/${run.run_id}`);
    expect(body.outputs).toEqual({ "out-0": long });
    expect(body.inputs).toEqual({ "in-0": shortened });
    const page = await tenant.secret.get("/v2/runs", { query: { page_size: 1 } });
    expect(page.body.data[0].outputs["out-0"]).toMatchObject({ $truncated: true, size: long.length + 2 });
    const verbose = await tenant.public.post(`/inference/v0/run/${tenant.org_id}/${project_id}`, { "in-0": long });
    expect(verbose.body.outputs).toEqual({ "out-0": long });
  });

  it("cross-tenant: returns the same 404 for an unknown run and another organisation's run", async () => {
    const other = await openTenant(tenant.target);
    const { body: run } = await create();
    const paths = (id: string) => [
      other.secret.get(`/v2/runs/${id}`),
      other.secret.get(`/v2/runs/${id}`, { headers: { accept: "text/event-stream" } }),
      other.secret.post(`/v2/runs/${id}/cancel`, {}),
      other.secret.post(`/v2/runs/${id}/cancel`, { mode: "terminate" }),
      other.secret.post(`/v2/runs/${id}/resume`, { from: "failed" }),
      other.secret.post(`/v2/runs/${id}/resume`, { action: "approve" }),
    ];
    const answers = await Promise.all([run.run_id, UNKNOWN].flatMap(paths));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
    expect(new Set(answers.map(problemText)).size).toBe(1);
    for (const { status, body } of await Promise.all(["no-uuid", "..%2f..%2f", `${UNKNOWN}0`].flatMap(paths)))
      expect([status, body.detail[0].loc]).toEqual([422, ["path", "run_id"]]);
    await tenant.until(run.run_id, "COMPLETED");
  });

  it("is allowed for secret keys and all users, not for public keys", async () => {
    const { body: run } = await create();
    expect((await tenant.public.get(`/v2/runs/${run.run_id}`)).status).toBe(403);
    expect((await (await tenant.user("viewer")).get(`/v2/runs/${run.run_id}`)).status).toBe(200);
    expect((await tenant.secret.get(`/v2/runs/${run.run_id}`, { query: { expand: "edges" } })).status).toBe(422);
    expect((await tenant.secret.get(`/v2/runs/${run.run_id}`, { query: { wait_seconds: -1 } })).status).toBe(422);
  });
});

describe("the events of a run", () => {
  const follow = async (runId: string, headers: Record<string, string> = {}): Promise<ServerSentEvent[]> => {
    const response = await tenant.secret.raw("GET", `/v2/runs/${runId}`, undefined, {
      headers: { accept: "text/event-stream", ...headers },
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    const events = [];
    for await (const event of eventsOf(response)) events.push(event);
    return events;
  };

  it("are sent as they happen, numbered from 1, up to run.finished", async () => {
    const { body: run } = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(slow(0.4)),
      inputs: {},
    });
    const events = await follow(run.run_id);
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, index) => index + 1));
    const types = events.map(({ event }) => event);
    expect(types[0]).toBe("run.state");
    expect(types).toContain("node.finished");
    expect(types.at(-1)).toBe("run.finished");
    for (const { id, event, data } of events) {
      expect(JSON.parse(data)).toMatchObject({ run_id: run.run_id, seq: Number(id), type: event });
    }
    expect(JSON.parse(events.at(-1)?.data ?? "").data).toMatchObject({ state: "COMPLETED" });
  });

  it("continue after Last-Event-ID, without duplicates or gaps", async () => {
    const { body: run } = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(slow(0.4)),
      inputs: {},
    });
    const gone = new AbortController();
    const response = await tenant.secret.raw("GET", `/v2/runs/${run.run_id}`, undefined, {
      headers: { accept: "text/event-stream" },
      signal: gone.signal,
    });
    const stream = eventsOf(response);
    const first = await stream.next();
    gone.abort();
    await stream.return().catch(() => undefined);
    const seen = first.value?.id ?? "";
    const rest = await follow(run.run_id, { "last-event-id": seen });
    expect(rest.map(({ id }) => Number(id))).toEqual(rest.map((_, index) => Number(seen) + index + 1));
    expect(rest.at(-1)?.event).toBe("run.finished");
    expect(await follow(run.run_id, { "last-event-id": String(rest.length) })).toHaveLength(Number(seen));
  });

  it("return 204 to a client that has the last one, so that an EventSource stops", async () => {
    const { body: run } = await create({ mode: "sync" });
    const events = await follow(run.run_id);
    const headers = { accept: "text/event-stream", "last-event-id": String(events.length) };
    expect((await tenant.secret.get(`/v2/runs/${run.run_id}`, { headers })).status).toBe(204);
    const bad = { ...headers, "last-event-id": "abc" };
    expect((await tenant.secret.get(`/v2/runs/${run.run_id}`, { headers: bad })).status).toBe(422);
  });

  it("report a pause and its answer", async () => {
    const { body: run } = await tenant.secret.post("/v2/runs", {
      project_id: await tenant.deploy(asking()),
      inputs: {},
      mode: "sync",
    });
    const events = follow(run.run_id);
    await tenant.secret.post(`/v2/runs/${run.run_id}/resume`, { action: "reject" });
    const types = (await events).map(({ event, data }) =>
      event === "run.state" ? JSON.parse(data).data.state : event,
    );
    expect(types).toEqual(expect.arrayContaining(["PAUSED", "run.paused", "RESUMED", "COMPLETED", "run.finished"]));
  });
});
