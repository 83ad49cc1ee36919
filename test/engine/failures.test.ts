import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { openDatabase, type Database } from "../../src/stores/db.ts";
import { listRunEvents } from "../../src/stores/runs/run-events.ts";
import { historiesOfEnded, withTemporal, type WorkflowHistory } from "../support/histories.ts";
import { service } from "../support/service.ts";
import { flow, nested, nodesOf, openBench, type Bench, type Run } from "./support.ts";

let bench: Bench;
let target: HttpTarget;
let database: Database;
beforeAll(async () => {
  [bench, target] = await Promise.all([openBench(), startHttpTarget()]);
  const url = service().databaseUrl;
  database = openDatabase({ url, poolSize: 2, applicationName: "test", onError: () => undefined });
});
afterAll(() => Promise.all([target.close(), database.close()]));

const quick = { max_attempts: 3, initial_interval_ms: 10, backoff: 1, max_interval_ms: 10 };

describe("a node that fails", () => {
  it("retries by the node's policy with one Idempotency-Key and records the attempts", async () => {
    const run = await bench.run(
      flow(
        [
          {
            id: "http-0",
            type: "http",
            config: { method: "POST", url: `${target.url}/flaky?times=2`, body: { a: 1 } },
            retry: quick,
          },
          { id: "out-0", type: "output" },
        ],
        ["http-0>out-0"],
      ),
    );
    expect(run.state).toBe("COMPLETED");
    expect(nodesOf(run)["http-0"]).toMatchObject({ state: "COMPLETED", attempts: 3 });
    expect(target.counts().get(`${run.run_id}:http-0`)).toBe(3);
  });

  it("waits for the next attempt in the activity if the wait is short, otherwise in the workflow", async () => {
    const retry = { max_attempts: 4, initial_interval_ms: 300, backoff: 10, max_interval_ms: 2500 };
    const run = await bench.run(
      flow(
        [
          { id: "http-0", type: "http", config: { url: `${target.url}/flaky?times=3` }, retry },
          { id: "delay-0", type: "delay", config: { seconds: 0.2 } },
          { id: "out-0", type: "output" },
        ],
        ["http-0>delay-0", "delay-0>out-0"],
      ),
    );
    expect(run.state).toBe("COMPLETED");
    expect(nodesOf(run)["http-0"]).toMatchObject({ state: "COMPLETED", attempts: 4, next_attempt_at: null });
    const events = await database.system((db) => listRunEvents(db, run.run_id, 0, 100));
    const waits = events.flatMap(({ type, at, data }) =>
      type === "node.retrying" && typeof data["next_attempt_at"] === "string"
        ? [Date.parse(data["next_attempt_at"]) - Date.parse(at)]
        : [],
    );
    // An event has the time at which its attempt started or ended, so the wait from it is at least the retry delay.
    expect(waits).toHaveLength(3);
    for (const [at, atLeast] of [300, 2500, 2500].entries()) expect(waits[at]).toBeGreaterThanOrEqual(atLeast);

    const [{ history }] = (await withTemporal(service().temporalAddress, (client) =>
      historiesOfEnded(client, run.run_id),
    )) as [WorkflowHistory];
    const scheduled = history.events?.filter(({ activityTaskScheduledEventAttributes: each }) => each);
    const timers = history.events?.flatMap(({ timerStartedEventAttributes: each }) =>
      each ? [Number(each.startToFireTimeout?.seconds ?? 0)] : [],
    );
    expect(scheduled).toHaveLength(3);
    expect(timers?.filter((seconds) => seconds === 2)).toHaveLength(2);
    expect(JSON.stringify(timers)).not.toContain("0.2");
  });

  it("waits no longer than its timeout for a Retry-After, and its record shows the next attempt", async () => {
    const url = `${target.url}/status?code=503&retry_after=3600`;
    const http = {
      id: "http-0",
      type: "http",
      config: { url },
      retry: { ...quick, max_attempts: 2 },
      timeout_ms: 4000,
    };
    const { run_id } = await bench.start(
      await bench.deploy(flow([http, { id: "out-0", type: "output" }], ["http-0>out-0"])),
    );
    const node = async () =>
      nodesOf((await bench.api.get(`/v2/runs/${run_id}`, { query: { expand: "nodes" } })).body as Run)["http-0"];
    await expect.poll(async () => (await node())?.state).toBe("RETRYING");
    const waiting = await node();
    const wait = Date.parse(waiting?.next_attempt_at ?? "") - Date.parse(waiting?.started_at ?? "");
    expect(wait).toBeGreaterThanOrEqual(4000);
    expect(wait).toBeLessThan(60_000);
    expect(await bench.until(run_id)).toMatchObject({ state: "FAILED", error: { code: "http_status", attempt: 2 } });
    expect(await node()).toMatchObject({ state: "FAILED", next_attempt_at: null });
  });

  it("has its path in the error wherever the error appears", async () => {
    const error = { code: "guard_failed", node_id: "guard-0", path: "map-0[1]/loop-0[0]/guard-0" };
    const guard = { id: "guard-0", type: "guard", config: { check: "item != 2", message: "no" } };
    const inner = nested([guard, { id: "o", type: "output" }], ["guard-0>o"]);
    const loop = { id: "loop-0", type: "loop", config: { while: "index < 1", flow: inner } };
    const mapOf = (more: Record<string, unknown>) => ({
      id: "map-0",
      type: "map",
      config: { items: "[1, 2]", flow: nested([loop, { id: "o", type: "output" }], ["loop-0>o"]), ...more },
    });
    const project = await bench.deploy(flow([mapOf({}), { id: "out-0", type: "output" }], ["map-0>out-0"]));
    const run = await bench.until((await bench.start(project)).run_id);
    expect(run).toMatchObject({ state: "FAILED", error });
    for (const path of ["map-0", error.path]) expect(nodesOf(run)[path]).toMatchObject({ state: "FAILED", error });
    const events = await database.system((db) => listRunEvents(db, run.run_id, 0, 100));
    expect(events.at(-1)).toMatchObject({ type: "run.finished", data: { error } });
    expect(events.filter(({ data }) => data["path"] === "map-0").at(-1)).toMatchObject({ data: { error } });
    const { body } = await bench.api.post(`/inference/v0/run/${bench.org_id}/${project}`, {});
    expect(body.error).toMatchObject(error);
    const outbox = await database.system((db) =>
      db.query<{ data: unknown }>("select data from outbox where type = 'run.failed' and data->>'run_id' = $1", [
        run.run_id,
      ]),
    );
    expect(outbox).toMatchObject([{ data: { error } }]);

    const collecting = await bench.run(
      flow([mapOf({ on_item_error: "collect" }), { id: "out-0", type: "output" }], ["map-0>out-0"]),
    );
    expect(collecting.outputs["out-0"][1]).toMatchObject({ error });
  });

  it("gives up after max_attempts and fails the run as an upstream failure", async () => {
    const run = await bench.run(
      flow(
        [
          { id: "http-0", type: "http", config: { method: "GET", url: `${target.url}/status?code=503` }, retry: quick },
          { id: "out-0", type: "output" },
        ],
        ["http-0>out-0"],
      ),
    );
    expect(run).toMatchObject({ state: "FAILED", error: { code: "http_status", node_id: "http-0", attempt: 3 } });
    expect(nodesOf(run)["http-0"]).toMatchObject({ state: "FAILED", attempts: 3 });
  });

  it("does not retry an error that a retry cannot fix", async () => {
    const run = await bench.run(
      flow(
        [
          {
            id: "http-0",
            type: "http",
            config: { method: "GET", url: `${target.url}/status?code=404&body=never` },
            retry: quick,
          },
          { id: "out-0", type: "output" },
        ],
        ["http-0>out-0"],
      ),
    );
    expect(run).toMatchObject({ state: "FAILED", error: { code: "http_status", attempt: 1 } });
  });

  it.concurrent.each([
    ["guard", { check: "false", message: "no" }, "guard_failed"],
    ["code", { source: "function main() { throw new Error('boom') }" }, "code_failed"],
  ])("with on_error continue uses the default output and records it: %s", async (type, config, code) => {
    const default_output = { stand_in: [1, 2] };
    const failing = { id: "node-0", type, config, on_error: "continue", default_output };
    const inner = nested([failing, { id: "o", type: "output" }], ["node-0>o"]);
    const run = await bench.run(
      flow(
        [failing, { id: "map-0", type: "map", config: { items: "[1]", flow: inner } }, { id: "out-0", type: "output" }],
        ["node-0>out-0", "node-0>map-0"],
      ),
    );
    expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": default_output } });
    for (const path of ["node-0", "map-0[0]/node-0"])
      expect(nodesOf(run)[path]).toMatchObject({ state: "FAILED", output: default_output, error: { code } });
  });

  it("with on_error branch takes the error handle and no other", async () => {
    const run = await bench.run(
      flow(
        [
          {
            id: "code-0",
            type: "code",
            config: { source: "function main() { throw new Error('boom') }", args: {} },
            on_error: "branch",
          },
          { id: "fine", type: "template", config: { template: "fine" } },
          { id: "sorry", type: "template", config: { template: "sorry: {{ code-0.error.code }}" } },
          { id: "out-0", type: "output" },
        ],
        ["code-0>fine", "code-0:error>sorry", "fine>out-0", "sorry>out-0"],
      ),
    );
    expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "sorry: code_failed" } });
    expect(nodesOf(run)["fine"]?.state).toBe("SKIPPED");
  });

  it("cancels the branches beside it and keeps later nodes from starting", async () => {
    const run = await bench.run(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "slow", type: "delay", config: { seconds: 60 } },
          { id: "short", type: "delay", config: { seconds: 0.2 } },
          { id: "guard-0", type: "guard", config: { check: "false", message: "stop" } },
          { id: "late", type: "template", config: { template: "late" } },
          { id: "out-0", type: "output" },
        ],
        ["in-0>slow", "in-0>short", "short>guard-0", "slow>late", "late>out-0", "guard-0>out-0"],
      ),
      { "in-0": "x" },
    );
    expect(run).toMatchObject({ state: "FAILED", error: { node_id: "guard-0" } });
    expect(nodesOf(run)["slow"]?.state).toBe("CANCELLED");
    expect(nodesOf(run)["late"]).toBeUndefined();
  });

  it("fails with node_timeout if it exceeds its timeout", async () => {
    const run = await bench.run(
      flow(
        [
          {
            id: "http-0",
            type: "http",
            config: { method: "GET", url: `${target.url}/hang` },
            timeout_ms: 300,
            retry: { ...quick, max_attempts: 1 },
          },
          { id: "out-0", type: "output" },
        ],
        ["http-0>out-0"],
      ),
    );
    expect(run).toMatchObject({ state: "FAILED", error: { code: "node_timeout", node_id: "http-0" } });
  });

  it("fails the run once if several templates fail in the same moment, and none is rendered again", async () => {
    const n = { id: "in-0", type: "input" };
    const costly = (tail: string) => `{% assign n = in-0 | plus: 900000000 %}{% for i in (1..n) %}x{% endfor %}${tail}`;
    const ids = ["t0", "t1", "t2"];
    const run = await bench.run(
      flow(
        [
          n,
          ...ids.map((id) => ({ id, type: "template", config: { template: costly(id) } })),
          { id: "out-0", type: "output" },
        ],
        ids.flatMap((id) => [`in-0>${id}`, `${id}>out-0`]),
      ),
      { "in-0": "1" },
    );
    expect(run).toMatchObject({ state: "FAILED", error: { code: "template_failed" } });
  });

  it("fails with run_timeout if its run exceeds the limit, and the error names the nodes that were stopped", async () => {
    const run = await bench.run(
      flow(
        [
          { id: "delay-0", type: "delay", config: { seconds: 60 } },
          { id: "out-0", type: "output" },
        ],
        ["delay-0>out-0"],
        { settings: { timeout_seconds: 1 } },
      ),
    );
    expect(run).toMatchObject({
      state: "FAILED",
      state_reason: "run_timeout",
      error: { code: "run_timeout", node_id: null },
    });
    expect(nodesOf(run)["delay-0"]?.state).toBe("CANCELLED");
  });

  it("reports its name and the reason if an expression fails", async () => {
    const run = await bench.run(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "set-0", type: "set", config: { values: { x: 'nodes["in-0"].no.such' } } },
          { id: "out-0", type: "output" },
        ],
        ["in-0>set-0", "set-0>out-0"],
      ),
      { "in-0": "text" },
    );
    expect(run).toMatchObject({ state: "FAILED", error: { code: "expression_failed", node_id: "set-0" } });
  });
});

describe("values that cannot be stored unchanged", () => {
  const code = (source: string) =>
    flow(
      [
        { id: "code-0", type: "code", config: { source, args: {} } },
        { id: "out-0", type: "output" },
      ],
      ["code-0>out-0"],
    );
  const set = (expression: string) =>
    flow(
      [
        { id: "set-0", type: "set", config: { values: { a: expression } } },
        { id: "out-0", type: "output" },
      ],
      ["set-0>out-0"],
    );

  it.each([
    ["code", "code-0", () => code('function main() { return { a: ["a\\u0000b"] } }'), /U\+0000 at \$\.a\[0\]/],
    ["code", "code-0", () => code('function main() { return "a\\ud800" }'), /half of a surrogate pair/],
    ["an expression", "set-0", () => set("'a\\u0000b'"), /U\+0000 at \$\.a/],
  ])("fail the node that made them, with the reason: %s", async (_, node_id, made, reason) => {
    const run = await bench.run(made());
    expect(run).toMatchObject({ state: "FAILED", error: { code: "value_not_storable", node_id } });
    expect(run.error?.message).toMatch(reason);
  });

  it("are kept as text if they are integers beyond 2^53 or strings in the JSON of another service", async () => {
    target.on("/numbers", (_request, response) => {
      const body = '{"id":12345678901234567890,"text":"7 12345678901234567890","exact":9007199254740991}';
      response.setHeader("content-type", "application/json").end(body);
    });
    target.on("/nul", (_request, response) => {
      response.setHeader("content-type", "application/json").end('{"a":"x\\u0000y"}');
    });
    const get = (id: string, path: string) => ({
      id,
      type: "http",
      config: { method: "GET", url: `${target.url}${path}` },
    });
    const run = await bench.run(
      flow(
        [
          get("http-0", "/numbers"),
          get("http-1", "/nul"),
          { id: "code-0", type: "code", config: { source: "function main() { return [2n ** 64n, 7n] }", args: {} } },
          {
            id: "set-0",
            type: "set",
            config: { values: { a: 'nodes["http-0"].body', b: 'nodes["http-1"].body', c: 'nodes["code-0"]' } },
          },
          { id: "out-0", type: "output" },
        ],
        ["http-0>set-0", "http-1>set-0", "code-0>set-0", "set-0>out-0"],
      ),
    );
    expect(run).toMatchObject({
      state: "COMPLETED",
      outputs: {
        "out-0": {
          a: { id: "12345678901234567890", text: "7 12345678901234567890", exact: 9_007_199_254_740_991 },
          b: '{"a":"x\\u0000y"}',
          c: ["18446744073709551616", 7],
        },
      },
    });
  });
});
