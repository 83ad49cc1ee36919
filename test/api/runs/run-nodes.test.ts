import { afterAll, beforeAll, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { asking, echo, failing, openTenant, type ApiTenant } from "../tenant.ts";
import { eventsOf } from "./streams.ts";

let tenant: ApiTenant;
let target: HttpTarget;
beforeAll(async () => {
  tenant = await openTenant();
  target = await startHttpTarget();
});
afterAll(() => target.close());

async function ended(definition: Parameters<ApiTenant["deploy"]>[0], inputs = {}): Promise<string> {
  const given = { project_id: await tenant.deploy(definition), inputs, mode: "sync", wait_seconds: 30 };
  return (await tenant.secret.post("/v2/runs", given)).body.run_id;
}
const nodeAt = (run_id: string, path: string, by = tenant.secret) =>
  by.get(`/v2/runs/${run_id}/node`, { query: { path } });

it("a retried node lists each attempt with its start, end and error", async () => {
  let calls = 0;
  target.on("/flaky", (_, response) => {
    calls += 1;
    response.statusCode = calls < 3 ? 503 : 200;
    response.end("fine");
  });
  const retry = { max_attempts: 5, initial_interval_ms: 300, backoff: 1 };
  const run_id = await ended(
    flow(
      [
        { id: "in-0", type: "input", config: { required: false, default: "x" } },
        { id: "http-0", type: "http", config: { method: "GET", url: `${target.url}/flaky` }, retry },
        { id: "out-0", type: "output" },
      ],
      ["in-0>http-0", "http-0>out-0"],
    ),
  );
  const { body } = await nodeAt(run_id, "http-0");
  expect(body).toMatchObject({ state: "COMPLETED", attempts: 3, output: { body: "fine" } });
  expect(
    body.attempt_log.map(({ attempt, error }: never) => [attempt, (error as { code: string } | null)?.code]),
  ).toEqual([
    [1, "http_status"],
    [2, "http_status"],
    [3, undefined],
  ]);
  const times = body.attempt_log.flatMap(({ started_at, ended_at, next_attempt_at }: never) => [
    started_at,
    ended_at,
    ...(next_attempt_at === null ? [] : [next_attempt_at]),
  ]);
  expect(times).toEqual(times.toSorted());
  expect([times[0], times.at(-1)]).toEqual([body.started_at, body.finished_at]);
  // The wait between attempts is not part of any attempt.
  const [first, second] = body.attempt_log;
  expect(Date.parse(second.started_at) - Date.parse(first.ended_at)).toBeGreaterThanOrEqual(250);
});

it("node values are omitted with node_values=false", async () => {
  const run_id = await ended(echo(), { "in-0": "Ada" });
  const query = { expand: "nodes", node_values: "false" };
  const { body } = await tenant.secret.get(`/v2/runs/${run_id}`, { query });
  expect(body.nodes).toMatchObject([
    { path: "in-0", state: "COMPLETED", inputs: null, output: null, attempt_log: [], child_run_id: null },
    { path: "out-0", state: "COMPLETED", inputs: null, output: null },
  ]);
  expect(body.nodes_truncated).toBe(false);
  expect((await nodeAt(run_id, "out-0")).body).toMatchObject({ output: "Ada", model_calls: [], citations: [] });
});

it("a subflow node names its child run, even inside a map", async () => {
  const inner = await tenant.deploy(echo());
  const sub = {
    id: "sub-0",
    type: "subflow",
    config: { project_id: inner, inputs: { "in-0": '"s" + string(index)' } },
  };
  const each = { nodes: [sub, { id: "o", type: "output" }], edges: [{ source: "sub-0", target: "o" }] };
  const run_id = await ended(
    flow(
      [
        { id: "in-0", type: "input", config: { required: false, default: "[1,2]" } },
        { id: "map-0", type: "map", config: { items: 'json(nodes["in-0"])', flow: each } },
        { id: "out-0", type: "output" },
      ],
      ["in-0>map-0", "map-0>out-0"],
    ),
  );
  for (const index of [0, 1]) {
    const { child_run_id } = (await nodeAt(run_id, `map-0[${index}]/sub-0`)).body;
    const child = (await tenant.secret.get(`/v2/runs/${child_run_id}`)).body;
    expect(child).toMatchObject({ parent_run_id: run_id, inputs: { "in-0": `s${index}` } });
  }
});

it("the node.started event says whether the node waits for a person", async () => {
  const { body } = await tenant.secret.post("/v2/runs", { project_id: await tenant.deploy(asking()), inputs: {} });
  await tenant.until(body.run_id, "PAUSED");
  const started = await tenant.withDatabase((database) =>
    database.org(tenant.org_id, (db) =>
      db.query<{ path: string; state: string }>(
        `select data ->> 'path' as path, data ->> 'state' as state from run_events
          where run_id = $1 and type = 'node.started' order by seq`,
        [body.run_id],
      ),
    ),
  );
  expect(started).toEqual([
    { path: "in-0", state: "RUNNING" },
    { path: "approval-0", state: "PAUSED" },
  ]);
});

it("an error includes a hint at the node, at the run and in their events", async () => {
  const run_id = await ended(failing(), { "in-0": "bad" });
  const { error } = (await nodeAt(run_id, "guard-0")).body;
  expect(error).toMatchObject({ code: "guard_failed", hint: expect.stringContaining("Check the inputs it tests") });
  expect((await tenant.secret.get(`/v2/runs/${run_id}`)).body.error).toEqual({ ...error, node_name: null });
  const headers = { accept: "text/event-stream" };
  const told = [];
  for await (const { event, data } of eventsOf(
    await tenant.secret.raw("GET", `/v2/runs/${run_id}`, undefined, { headers }),
  )) {
    const { error: told_of } = JSON.parse(data).data;
    if (told_of) told.push([event, told_of]);
  }
  expect(told).toEqual([
    ["node.finished", error],
    ["run.finished", error],
  ]);
});

it("an unknown node returns 404, and so does a node of another organisation", async () => {
  const run_id = await ended(echo(), { "in-0": "Ada" });
  expect((await nodeAt(run_id, "none")).status).toBe(404);
  const stranger = await openTenant(tenant.target);
  expect((await nodeAt(run_id, "in-0", stranger.secret)).status).toBe(404);
});
