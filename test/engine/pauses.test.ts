import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../src/stores/db.ts";
import { listPauses } from "../../src/stores/runs/pauses.ts";
import { service } from "../support/service.ts";
import { flow, nested, nodesOf, openBench, type Bench, type Run } from "./support.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});

const out = { id: "out-0", type: "output" };
const ask = (config: Record<string, unknown> = {}) => ({
  id: "approval-0",
  type: "approval",
  config: { message: "Go on with {{in-0}}?", ...config },
});
const asking = (config?: Record<string, unknown>) =>
  flow(
    [
      { id: "in-0", type: "input", config: { required: false, default: "it" } },
      ask(config),
      { id: "yes", type: "template", config: { template: "yes, {{ approval-0.data | json }}" } },
      { id: "no", type: "template", config: { template: "no" } },
      { id: "late", type: "template", config: { template: "late" } },
      out,
    ],
    [
      "in-0>approval-0",
      "approval-0:approve>yes",
      "approval-0:reject>no",
      "approval-0:timeout>late",
      "yes>out-0",
      "no>out-0",
      "late>out-0",
    ],
  );

async function paused(definition: Parameters<Bench["deploy"]>[0], inputs: Record<string, unknown> = {}): Promise<Run> {
  const { run_id } = await bench.start(await bench.deploy(definition), inputs);
  return bench.until(run_id, "PAUSED");
}

describe("an approval", () => {
  it.concurrent.each([
    ["approve", 'yes, {"signed":"me"}'],
    ["reject", "no"],
  ])("continues by the handle of the action %s", async (action, expected) => {
    const run = await paused(asking());
    expect(run.pauses).toMatchObject([
      { node_id: "approval-0", kind: "approval", status: "waiting", message: "Go on with it?" },
    ]);
    const { status, body } = await bench.api.post(`/v2/runs/${run.run_id}/resume`, { action, data: { signed: "me" } });
    expect(status, JSON.stringify(body)).toBe(202);
    const ended = await bench.until(run.run_id);
    expect(ended).toMatchObject({ state: "COMPLETED", outputs: { "out-0": expected } });
    expect(ended.pauses).toMatchObject([{ status: "resolved" }]);
    expect(nodesOf(ended)["approval-0"]).toMatchObject({ state: "COMPLETED" });
  });

  it.concurrent.each([
    ["fail", { state: "FAILED", error: { code: "pause_expired", node_id: "approval-0" } }],
    ["branch", { state: "COMPLETED", outputs: { "out-0": "late" } }],
    ["approve", { state: "COMPLETED", outputs: { "out-0": "yes, null" } }],
  ])("that no one answers ends by on_timeout: %s", async (on_timeout, expected) => {
    const run = await bench.run(asking({ expires_in_seconds: 1, on_timeout }));
    expect(run).toMatchObject(expected);
    expect(run.pauses).toMatchObject([{ status: "expired" }]);
  });

  it("shows no masked value and stores only unmasked parts of the answer", async () => {
    const run = await paused(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "set-0", type: "set", config: { values: { password: "nodes['in-0']", user: "'ada'" } } },
          { id: "approval-0", type: "approval", config: { message: "?", data: "nodes['set-0']" } },
          { id: "tpl-0", type: "template", config: { template: "{{approval-0.data.password | size}}" } },
          out,
        ],
        ["in-0>set-0", "set-0>approval-0", "approval-0:approve>tpl-0", "tpl-0>out-0"],
        { settings: { redact: ["$..password", "$.inputs.in-0"] } },
      ),
      { "in-0": "hunter2" },
    );
    expect(run.pauses).toMatchObject([{ data: { password: "[redacted]", user: "ada" } }]);
    const data = { password: "swordfish", note: "fine" };
    expect((await bench.api.post(`/v2/runs/${run.run_id}/resume`, { action: "approve", data })).status).toBe(202);
    const ended = await bench.until(run.run_id);
    // The flow itself continues with the real values.
    expect(ended).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "9" } });
    const database = openDatabase({
      url: service().databaseUrl,
      poolSize: 2,
      applicationName: "test",
      onError: () => undefined,
    });
    onTestFinished(() => database.close());
    const [row] = await database.system((db) => listPauses(db, run.run_id));
    expect(row?.resolution?.data).toEqual({ password: "[redacted]", note: "fine" });
    expect(JSON.stringify(ended)).not.toMatch(/hunter2|swordfish/);
  });

  it("sets the run to PAUSED only while no node is running", async () => {
    const { run_id } = await bench.start(
      await bench.deploy(
        flow(
          [
            { id: "in-0", type: "input", config: { required: false } },
            ask(),
            { id: "delay-0", type: "delay", config: { seconds: 1.5 } },
            out,
          ],
          ["in-0>approval-0", "in-0>delay-0", "approval-0:approve>out-0", "delay-0>out-0"],
        ),
      ),
    );
    for (let look = 0; look < 100; look += 1) {
      const { body } = await bench.api.get(`/v2/runs/${run_id}`);
      if (body.pauses.length > 0) {
        expect(body.state).toBe("RUNNING");
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const run = await bench.until(run_id, "PAUSED");
    expect(nodesOf(run)["delay-0"]?.state).toBe("COMPLETED");
    await bench.api.post(`/v2/runs/${run_id}/resume`, { action: "approve" });
    expect((await bench.until(run_id)).state).toBe("COMPLETED");
  });

  it("leaves the run PAUSED if another approval expires beside it and nothing else can run", async () => {
    const first = { ...ask({ expires_in_seconds: 1, on_timeout: "approve" }), id: "soon-0" };
    const edges = ["soon-0:approve>out-0", "approval-0:approve>out-0"];
    const run = await paused(
      flow(
        [{ id: "in-0", type: "input", config: { required: false } }, first, ask(), out],
        ["in-0>soon-0", "in-0>approval-0", ...edges],
      ),
    );
    const states = async () => {
      const { body } = await bench.api.get(`/v2/runs/${run.run_id}`, { query: { expand: "nodes" } });
      return [(body as Run).state, nodesOf(body as Run)["soon-0"]?.state];
    };
    // Only the workflow records that the expired pause has ended, and then the run's next state.
    await expect.poll(states, { timeout: 15_000 }).toEqual(["PAUSED", "COMPLETED"]);
    expect((await bench.api.post(`/v2/runs/${run.run_id}/resume`, { action: "approve" })).status).toBe(202);
    expect((await bench.until(run.run_id)).state).toBe("COMPLETED");
  });

  it("can be answered separately in each item of a map", async () => {
    const inner = nested(
      [
        { id: "approval-0", type: "approval", config: { message: "{{item}}?" } },
        { id: "o", type: "output", config: { value: "{{item}} {{ approval-0.action }}" } },
      ],
      ["approval-0:approve>o", "approval-0:reject>o"],
    );
    const run = await paused(
      flow([{ id: "map-0", type: "map", config: { items: '["a", "b", "c"]', flow: inner } }, out], ["map-0>out-0"]),
    );
    expect(run.pauses.map(({ path }) => path).toSorted()).toEqual([
      "map-0[0]/approval-0",
      "map-0[1]/approval-0",
      "map-0[2]/approval-0",
    ]);
    const unnamed = await bench.api.post(`/v2/runs/${run.run_id}/resume`, { action: "approve" });
    expect(unnamed.status).toBe(422);
    for (const [at, { pause_id }] of run.pauses.toSorted((a, b) => a.path.localeCompare(b.path)).entries()) {
      const { status } = await bench.api.post(`/v2/runs/${run.run_id}/resume`, {
        pause_id,
        action: at === 1 ? "reject" : "approve",
      });
      expect(status).toBe(202);
      if (at < 2) await bench.until(run.run_id, "PAUSED");
    }
    expect(await bench.until(run.run_id)).toMatchObject({
      state: "COMPLETED",
      outputs: { "out-0": ["a approve", "b reject", "c approve"] },
    });
  });

  it.concurrent.each([
    ["its map runs out of time", { timeout_ms: 1500 }, "true"],
    ["a node beside it fails", {}, "item == 'a'"],
  ])("ends when %s, and the run continues without it", async (_, limit, check) => {
    const inner = nested(
      [
        { id: "approval-0", type: "approval", config: { message: "{{item}}?" } },
        { id: "delay-0", type: "delay", config: { seconds: 0.5 } },
        { id: "guard-0", type: "guard", config: { check, message: "no" } },
        { id: "o", type: "output", config: { value: "{{item}}" } },
      ],
      ["approval-0:approve>o", "delay-0>guard-0", "guard-0>o"],
    );
    const map = { id: "map-0", type: "map", config: { items: '["a", "b"]', flow: inner }, ...limit };
    const { run_id } = await bench.start(
      await bench.deploy(
        flow(
          [
            { ...map, on_error: "continue", default_output: "late" },
            { id: "still-0", type: "approval", config: { message: "Still?" } },
            { ...out, config: { value: "{{map-0}} {{still-0.action}}" } },
          ],
          ["map-0>still-0", "still-0:approve>out-0"],
        ),
      ),
    );
    const pausesOf = async () => {
      const { body } = await bench.api.get(`/v2/runs/${run_id}`);
      return (body as Run).pauses;
    };
    const statuses = async () => Object.fromEntries((await pausesOf()).map(({ path, status }) => [path, status]));
    await expect.poll(statuses).toEqual({
      "map-0[0]/approval-0": "cancelled",
      "map-0[1]/approval-0": "cancelled",
      "still-0": "waiting",
    });
    const pauses = await pausesOf();
    const given = pauses.find(({ status }) => status === "cancelled");
    const late = await bench.api.post(`/v2/runs/${run_id}/resume`, { action: "approve", pause_id: given?.pause_id });
    expect(late.status).toBe(409);
    // The pause need not be named, because only one is open.
    expect((await bench.api.post(`/v2/runs/${run_id}/resume`, { action: "approve" })).status).toBe(202);
    expect(await bench.until(run_id)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "late approve" } });
  });

  it("can be answered inside the slices of a long map", async () => {
    const inner = nested(
      [
        { id: "if-0", type: "condition", config: { cases: [{ id: "ask", when: "item == 280" }] } },
        { id: "approval-0", type: "approval", config: { message: "really?" } },
        { id: "delay-0", type: "delay", config: { seconds: 0 } },
        { id: "o", type: "output", config: { value: "{{item}}" } },
      ],
      ["if-0:case:ask>approval-0", "if-0:else>delay-0", "approval-0:approve>o", "delay-0>o"],
    );
    const items = `[${Array.from({ length: 300 }, (_, at) => at).join(",")}]`;
    const run = await paused(
      flow([{ id: "map-0", type: "map", config: { items, flow: inner, max_concurrency: 50 } }, out], ["map-0>out-0"]),
    );
    expect(run.pauses).toMatchObject([{ path: "map-0[280]/approval-0" }]);
    await bench.api.post(`/v2/runs/${run.run_id}/resume`, { action: "approve" });
    const ended = await bench.until(run.run_id);
    expect(ended.state, JSON.stringify(ended.error)).toBe("COMPLETED");
    expect(ended.outputs["out-0"]).toHaveLength(300);
  });
});
