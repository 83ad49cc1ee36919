import { afterAll, beforeAll, expect, it } from "vitest";
import { flow, openBench, type Bench, type Run } from "../engine/support.ts";
import { openDatabase, type Database } from "../../src/stores/db.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { aMoment } from "../support/scratch.ts";
import { client, startService, type OwnService } from "../support/service.ts";

// A flow that calls its own URL must end, however it calls it. A separate installation allows only few runs per root run.

const MOST = 10;
let service: OwnService;
let target: HttpTarget;
let mine: Bench;
let others: Bench;
let database: Database;
beforeAll(async () => {
  [service, target] = await Promise.all([
    startService({ env: { MILLRACE_MAX_NESTED_RUNS: String(MOST) } }),
    startHttpTarget(),
  ]);
  const onError = () => undefined;
  database = openDatabase({ url: service.databaseUrl, poolSize: 2, applicationName: "millrace-test", onError });
  [mine, others] = await Promise.all([openBench(service), openBench(service)]);
});
afterAll(() => Promise.all([database?.close(), service?.close(), target?.close()]));

const input = { id: "in-0", type: "input" };
const out = { id: "out-0", type: "output" };
const echo = () => flow([input, out], ["in-0>out-0"]);

/** An http node that sends one POST without retries. */
function post(id: string, url: string, headers: Record<string, string> = {}) {
  return {
    id,
    type: "http",
    config: { method: "POST", url, headers, body: { "in-0": "x" } },
    retry: { max_attempts: 1 },
  };
}

const address = (bench: Bench, flowId: string) => `/inference/v0/run/${bench.org_id}/${flowId}`;

/** A flow with two http nodes that call its own URL, in parallel or one after the other. */
async function callingItself(paths: readonly string[]): Promise<string> {
  const id = await mine.deploy(echo());
  const url = service.url + address(mine, id);
  const headers = { authorization: `Bearer ${mine.secretKey}`, "Millrace-Call": "none" };
  const definition = flow([input, post("http-0", url, headers), post("http-1", url, headers), out], paths);
  const { status, body } = await mine.api.post(`/v2/projects/${id}/versions`, { flow: definition });
  expect(status, JSON.stringify(body)).toBe(201);
  return id;
}

/** All runs of a flow after they have finished, the first one first. */
async function allEnded(project_id: string): Promise<Run[]> {
  for (const since = Date.now(); ;) {
    const { body } = await mine.api.get("/v2/runs", { query: { project_id, page_size: 100 } });
    if (body.data.every(({ finished_at }: { finished_at: unknown }) => finished_at !== null))
      return body.data.toSorted((a: Run, b: Run) => (a.run_id < b.run_id ? -1 : 1));
    await aMoment(since);
  }
}

/** The header of a run's request as a receiver outside sees it, and the run. */
async function callOf(bench: Bench): Promise<{ header: string; run_id: string }> {
  const definition = flow(
    [input, post("http-0", `${target.url}/${bench.org_id}`, { "Millrace-Call": "none" }), out],
    ["in-0>http-0", "http-0>out-0"],
  );
  const { run_id } = await bench.run(definition, { "in-0": "x" });
  const request = target.requests.find(({ path }) => path === `/${bench.org_id}`);
  return { header: request?.headers["millrace-call"] ?? "", run_id };
}

async function depths(runIds: readonly string[]): Promise<number[]> {
  const text = "select depth from trigger_firings where run_id = any ($1::uuid[]) order by depth";
  return (await database.system((db) => db.query<{ depth: number }>(text, [runIds]))).map(({ depth }) => depth);
}

const setDepth = (orgId: string, runId: string, depth: number) =>
  database.system((db) =>
    db.query(
      "insert into trigger_firings (run_id, org_id, key, depth) values ($1::uuid, $2::uuid, $1::text, $3::int)",
      [runId, orgId, depth],
    ),
  );

it("self-call: a flow that calls itself stops at the maximum depth of nested runs", { timeout: 90_000 }, async () => {
  const id = await callingItself(["in-0>http-0", "http-0>http-1", "http-1>out-0"]);
  await mine.start(id, { "in-0": "x" });
  await expect.poll(async () => (await allEnded(id)).length, { timeout: 60_000 }).toBe(9);
  const runs = await allEnded(id);
  expect(runs.map(({ state }) => state)).toEqual(runs.map(() => "FAILED"));
  expect(runs.at(-1)?.error).toMatchObject({ code: "http_status" });
  expect(runs.at(-1)?.error?.message).toContain("too_many_nested_runs");
  // The error of the outermost run names the innermost run, and does not quote the runs between them.
  expect(runs[0]?.error?.message).toContain(`run ${runs.at(-1)?.run_id}: `);
  expect(runs[0]?.error?.message).toContain("too_many_nested_runs");
  expect(await depths(runs.map(({ run_id }) => run_id))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

it(
  "self-call: calls that double at each level stop at the maximum number of runs caused by one run",
  { timeout: 90_000 },
  async () => {
    const id = await callingItself(["in-0>http-0", "in-0>http-1", "http-0>out-0", "http-1>out-0"]);
    const { run_id } = await mine.start(id, { "in-0": "x" });
    expect((await mine.until(run_id)).state).toBe("FAILED");
    const runs = await allEnded(id);
    // Concurrent calls may each see a free slot, so a level or two more than allowed may start.
    expect(runs.length).toBeGreaterThan(2);
    expect(runs.length).toBeLessThan(1 + MOST + 2 * MOST + 4 * MOST);
  },
);

it("self-call: only a header that Millrace issued to the same organisation counts", { timeout: 90_000 }, async () => {
  const [own, foreign] = await Promise.all([callOf(mine), callOf(others)]);
  for (const { header, run_id } of [own, foreign]) {
    expect(header).toMatch(/^[\w-]{100,400}$/);
    expect(Buffer.from(header, "base64url").toString("latin1")).not.toContain(run_id);
  }
  await setDepth(mine.org_id, own.run_id, 8);
  await setDepth(others.org_id, foreign.run_id, 8);
  const id = await mine.deploy(echo());
  const inputs = { "in-0": "x" };
  const call = (header: string) => mine.api.post(address(mine, id), inputs, { headers: { "Millrace-Call": header } });

  const changed = own.header.slice(0, -4) + (own.header.endsWith("AAAA") ? "BBBB" : "AAAA");
  const answers = await Promise.all([foreign.header, changed, own.run_id, "x".repeat(5000)].map(call));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await depths(answers.map(({ body }) => body.run_id))).toEqual([]);

  const options = { headers: { "Millrace-Call": own.header } };
  const trigger = {
    provider_id: "millrace",
    trigger_id: "webhook",
    project_id: id,
    config: {},
    inputs: { "in-0": "'x'" },
  };
  const { body: hook } = await mine.api.post("/v2/triggers", trigger);
  const failed = await mine.run(
    flow([input, post("http-0", "http://127.0.0.1:1/"), out], ["in-0>http-0", "http-0>out-0"]),
    inputs,
  );
  const action = { inputs: { project_id: id, inputs } };
  const refused = await Promise.all([
    call(own.header),
    mine.api.post(`/inference/v0/stream/${mine.org_id}/${id}`, inputs, options),
    mine.api.post("/v2/runs", { project_id: id, inputs }, options),
    mine.api.post(`/v2/runs/${failed.run_id}/resume`, { from: "failed" }, options),
    mine.api.post("/v2/providers/millrace/actions/start_run/run", action, options),
    client(service).post(new URL(hook.address, service.url).pathname, {}, options),
  ]);
  expect(refused.map(({ body }) => body.code)).toEqual(refused.map(() => "too_many_nested_runs"));
  const tool = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const { body: listed } = await mine.api.post(`/mcp?flow_id=${id}`, tool);
  const params = { name: listed.result.tools[0].name, arguments: inputs };
  const { body: called } = await mine.api.post(
    `/mcp?flow_id=${id}`,
    { ...tool, method: "tools/call", params },
    options,
  );
  expect(called.result).toMatchObject({ isError: true });
  expect(JSON.stringify(called.result)).toContain("more than 8 nested runs");

  // A run that resumes another one has the same depth.
  await setDepth(mine.org_id, failed.run_id, 5);
  const { body: resumed } = await mine.api.post(`/v2/runs/${failed.run_id}/resume`, { from: "failed" });
  expect(await depths([resumed.run_id])).toEqual([5]);
});

it(
  "self-call: if a proxy drops the header, only a few runs started by Millrace are in progress",
  { timeout: 90_000 },
  async () => {
    const definition = flow(
      [input, { id: "delay-0", type: "delay", config: { seconds: 600 } }, out],
      ["in-0>delay-0", "delay-0>out-0"],
    );
    const project_id = await mine.deploy(definition);
    const start = (userAgent: string) =>
      mine.api.post("/v2/runs", { project_id, inputs: { "in-0": "x" } }, { headers: { "User-Agent": userAgent } });
    for (let run = 0; run < MOST; run += 1) expect((await start("Millrace/0.2.0")).status).toBe(201);
    expect((await start("Millrace/0.2.0")).body).toMatchObject({ status: 429, code: "too_many_concurrent_runs" });
    expect((await start("curl/8.0")).status).toBe(201);
  },
);

/** The path of an inbound webhook that starts a flow. */
async function hookOf(project_id: string): Promise<string> {
  const { status, body } = await mine.api.post("/v2/triggers", {
    provider_id: "millrace",
    trigger_id: "webhook",
    project_id,
    config: {},
    inputs: { "in-0": "'x'" },
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return new URL(body.address, service.url).pathname;
}

it("self-call: calls of a flow's own webhook that double at each level also stop", { timeout: 90_000 }, async () => {
  const id = await mine.deploy(echo());
  const url = service.url + (await hookOf(id));
  const definition = flow(
    [input, post("http-0", url), post("http-1", url), { id: "delay-0", type: "delay", config: { seconds: 600 } }, out],
    ["in-0>http-0", "in-0>http-1", "http-0>delay-0", "http-1>delay-0", "delay-0>out-0"],
  );
  const { status, body } = await mine.api.post(`/v2/projects/${id}/versions`, { flow: definition, publish: true });
  expect(status, JSON.stringify(body)).toBe(201);
  await mine.start(id, { "in-0": "x" });
  // In the end, each run was refused or waits after it has made all its calls.
  const calling = `select run_id from runs r where project_id = $1::uuid and state <> 'FAILED' and not exists
    (select from node_runs n where n.run_id = r.run_id and n.path = 'delay-0' and n.state = 'RUNNING')`;
  await expect.poll(() => database.system((db) => db.query(calling, [id]))).toEqual([]);
  const { body: page } = await mine.api.get("/v2/runs", { query: { project_id: id, page_size: 100 } });
  const runs: Run[] = page.data;
  expect(runs.length).toBeGreaterThan(2);
  expect(runs.length).toBeLessThan(100);
  expect(Math.max(...(await depths(runs.map((run) => run.run_id))))).toBeGreaterThan(1);
  const refused = runs.filter(({ error }) => error?.message.includes("too_many_concurrent_runs"));
  expect(refused).not.toEqual([]);
});

it(
  "self-call: if a proxy drops the header, webhooks start only a few runs for Millrace",
  { timeout: 90_000 },
  async () => {
    const definition = flow(
      [input, { id: "delay-0", type: "delay", config: { seconds: 600 } }, out],
      ["in-0>delay-0", "delay-0>out-0"],
    );
    // Runs of the previous test count as well, because their parent run is unknown.
    const { body: before } = await mine.api.get("/v2/runs", { query: { state: "RUNNING", page_size: 100 } });
    for (const { run_id } of before.data) await mine.api.post(`/v2/runs/${run_id}/cancel`, { mode: "terminate" });
    const path = await hookOf(await mine.deploy(definition));
    const fire = (userAgent: string) => client(service).post(path, {}, { headers: { "User-Agent": userAgent } });
    for (let run = 0; run < MOST; run += 1) expect((await fire("Millrace/0.2.0")).status).toBe(202);
    expect((await fire("Millrace/0.2.0")).body).toMatchObject({ status: 429, code: "too_many_concurrent_runs" });
    expect((await fire("curl/8.0")).status).toBe(202);
  },
);
