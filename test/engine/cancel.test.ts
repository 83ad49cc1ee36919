import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../src/stores/db.ts";
import { requestCancel } from "../../src/stores/runs/runs.ts";
import { runWorkflowId } from "../../src/temporal/ids.ts";
import { inputOf, withTemporal } from "../support/histories.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { service } from "../support/service.ts";
import { flow, nested, nodesOf, openBench, type Bench } from "./support.ts";

let bench: Bench;
let target: HttpTarget;
beforeAll(async () => {
  [bench, target] = await Promise.all([openBench(), startHttpTarget()]);
});
afterAll(() => target.close());

const after = [
  { id: "after", type: "http", config: { method: "POST", url: "http://127.0.0.1:9/never" } },
  { id: "out-0", type: "output" },
];

describe("a cancel of a run", () => {
  it.concurrent.each([
    ["http", () => ({ method: "GET", url: `${target.url}/hang` })],
    ["code", () => ({ source: "function main() { for (;;) {} }", args: {} })],
    ["delay", () => ({ seconds: 600 })],
    ["approval", () => ({ message: "?" })],
    [
      "map",
      () => ({
        items: "[1, 2]",
        flow: nested(
          [
            { id: "delay-1", type: "delay", config: { seconds: 600 } },
            { id: "o", type: "output" },
          ],
          ["delay-1>o"],
        ),
      }),
    ],
    [
      "loop",
      () => ({
        while: "true",
        flow: nested(
          [
            { id: "delay-1", type: "delay", config: { seconds: 600 } },
            { id: "o", type: "output" },
          ],
          ["delay-1>o"],
        ),
      }),
    ],
  ])("reaches a running %s node within 5 s, and no later node starts", async (type, config) => {
    const first = {
      id: "first",
      type,
      config: config(),
      ...(type === "http" || type === "code" ? { timeout_ms: 60_000 } : {}),
    };
    const { run_id } = await bench.start(
      await bench.deploy(
        flow([first, ...after], [type === "approval" ? "first:approve>after" : "first>after", "after>out-0"]),
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 700));
    const asked = Date.now();
    const { status, body } = await bench.api.post(`/v2/runs/${run_id}/cancel`, { reason: "not needed" });
    expect(status, JSON.stringify(body)).toBe(202);
    const run = await bench.until(run_id);
    // Long before the nodes would finish without a cancellation.
    expect(Date.now() - asked).toBeLessThan(30_000);
    expect(run).toMatchObject({ state: "CANCELLED", state_reason: "not needed" });
    expect(nodesOf(run)["after"]).toBeUndefined();
    expect(run.nodes.every(({ state }) => state !== "RUNNING" && state !== "PAUSED")).toBe(true);
    const again = await bench.api.post(`/v2/runs/${run_id}/cancel`, {});
    expect(again.status).toBe(200);
  });

  it("stops the request of an http node", async () => {
    // Connections of earlier tests are closed.
    await expect.poll(() => target.active()).toBe(0);
    const { run_id } = await bench.start(
      await bench.deploy(
        flow(
          [
            { id: "http-0", type: "http", config: { method: "GET", url: `${target.url}/hang` } },
            { id: "out-0", type: "output" },
          ],
          ["http-0>out-0"],
        ),
      ),
    );
    await expect.poll(() => target.active()).toBe(1);
    await bench.api.post(`/v2/runs/${run_id}/cancel`, {});
    await expect.poll(() => target.active()).toBe(0);
  });

  it("cancels child runs at any depth", async () => {
    const leaf = await bench.deploy(
      flow(
        [
          { id: "delay-0", type: "delay", config: { seconds: 600 } },
          { id: "out-0", type: "output" },
        ],
        ["delay-0>out-0"],
      ),
    );
    const middle = await bench.deploy(
      flow(
        [
          { id: "sub-0", type: "subflow", config: { project_id: leaf } },
          { id: "out-0", type: "output" },
        ],
        ["sub-0>out-0"],
      ),
    );
    const { run_id } = await bench.start(
      await bench.deploy(
        flow(
          [
            { id: "sub-0", type: "subflow", config: { project_id: middle } },
            { id: "out-0", type: "output" },
          ],
          ["sub-0>out-0"],
        ),
      ),
    );
    const children = async (parent: string) =>
      (await bench.api.get("/v2/runs", { query: { parent_run_id: parent } })).body.data;
    await expect.poll(() => children(run_id)).toHaveLength(1);
    const [child] = await children(run_id);
    await expect.poll(() => children(child.run_id)).toHaveLength(1);
    await bench.api.post(`/v2/runs/${run_id}/cancel`, {});
    expect((await bench.until(run_id)).state).toBe("CANCELLED");
    await expect.poll(async () => (await children(run_id))[0].state, { timeout: 5000 }).toBe("CANCELLED");
    await expect.poll(async () => (await children(child.run_id))[0].state, { timeout: 5000 }).toBe("CANCELLED");
  });

  it("cancels a run whose child learns of it first", async () => {
    const leaf = await bench.deploy(
      flow(
        [
          { id: "delay-0", type: "delay", config: { seconds: 600 } },
          { id: "out-0", type: "output" },
        ],
        ["delay-0>out-0"],
      ),
    );
    const release = target.hold("/before");
    const called = await bench.deploy(
      flow(
        [
          { id: "http-0", type: "http", config: { method: "GET", url: `${target.url}/before` } },
          { id: "sub-0", type: "subflow", on_error: "continue", config: { project_id: leaf } },
          { id: "out-0", type: "output" },
        ],
        ["http-0>sub-0", "sub-0>out-0"],
      ),
    );
    const { run_id } = await bench.start(
      await bench.deploy(
        flow(
          [
            { id: "sub-0", type: "subflow", config: { project_id: called } },
            { id: "out-0", type: "output" },
          ],
          ["sub-0>out-0"],
        ),
      ),
    );
    await expect.poll(() => target.hits("/before")).toBe(1);
    // As if the process had died before it told the workflow.
    const url = service().databaseUrl;
    const database = openDatabase({ url, poolSize: 1, applicationName: "test", onError: () => undefined });
    onTestFinished(() => database.close());
    const asked = await database.org(bench.org_id, (db) => requestCancel(db, run_id, "not needed"));
    expect(asked?.state).toBe("RUNNING");
    release();
    expect(await bench.until(run_id)).toMatchObject({ state: "CANCELLED", state_reason: "not needed" });
    const [child] = (await bench.api.get("/v2/runs", { query: { parent_run_id: run_id } })).body.data;
    expect(child).toMatchObject({ state: "CANCELLED", error: null });
  });

  it("keeps a run that is scheduled for later from ever starting", async () => {
    const projectId = await bench.deploy(
      flow(
        [
          { id: "tpl-0", type: "template", config: { template: "x" } },
          { id: "out-0", type: "output" },
        ],
        ["tpl-0>out-0"],
      ),
    );
    const { run_id, state } = await bench.start(projectId, {}, { run_at: new Date(Date.now() + 60_000).toISOString() });
    expect(state).toBe("PENDING");
    await bench.api.post(`/v2/runs/${run_id}/cancel`, {});
    const run = await bench.until(run_id);
    expect(run).toMatchObject({ state: "CANCELLED", nodes: [] });
  });

  it("with terminate ends a run immediately", async () => {
    const { run_id } = await bench.start(
      await bench.deploy(
        flow(
          [
            { id: "delay-0", type: "delay", config: { seconds: 600 } },
            { id: "out-0", type: "output" },
          ],
          ["delay-0>out-0"],
        ),
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    const { status, body } = await bench.api.post(`/v2/runs/${run_id}/cancel`, { mode: "terminate", reason: "now" });
    expect([200, 202]).toContain(status);
    expect(body.state).toBe("CANCELLED");
  });

  it("with terminate leaves no pause open and no node unfinished, however early it comes", async () => {
    const project = await bench.deploy(
      flow(
        [
          { id: "approval-0", type: "approval", config: { message: "?" } },
          { id: "delay-0", type: "delay", config: { seconds: 600 } },
          { id: "out-0", type: "output" },
        ],
        ["approval-0:approve>out-0", "delay-0>out-0"],
      ),
    );
    const runs = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const { run_id } = await bench.start(project);
        await new Promise((resolve) => setTimeout(resolve, at));
        await bench.api.post(`/v2/runs/${run_id}/cancel`, { mode: "terminate" });
        return run_id;
      }),
    );
    // After another run has started, all writes of the earlier runs have been made or dropped.
    const { run_id: last } = await bench.start(project);
    await bench.until(last, "RUNNING");
    for (const run_id of runs) {
      const run = await bench.until(run_id);
      expect(run.state).toBe("CANCELLED");
      expect(run.pauses.filter(({ status }) => status === "waiting")).toEqual([]);
      expect(run.nodes.filter(({ state }) => state !== "CANCELLED" && state !== "COMPLETED")).toEqual([]);
      const { status } = await bench.api.post(`/v2/runs/${run_id}/resume`, { action: "approve" });
      expect(status).toBe(409);
    }
    await bench.api.post(`/v2/runs/${last}/cancel`, { mode: "terminate" });
  });

  it("gives a child run and its workflow the same final state, whatever happens at the same moment", async () => {
    const http = (id: string, ms: number) => ({
      id,
      type: "http",
      config: { url: `${target.url}/delay?ms=${ms}&${id}` },
    });
    const child = await bench.deploy(
      flow([http("a", 30), http("b", 30), { id: "out-0", type: "output" }], ["a>b", "b>out-0"]),
    );
    const parent = await bench.deploy(
      flow(
        [
          { id: "sub-0", type: "subflow", config: { project_id: child } },
          { id: "out-0", type: "output" },
        ],
        ["sub-0>out-0"],
      ),
    );
    for (const ms of [15, 24, 33, 42]) {
      const before = target.requests.length;
      const { run_id } = await bench.start(parent);
      await expect.poll(() => target.requests.length, { interval: 2 }).toBeGreaterThan(before);
      await new Promise((resolve) => setTimeout(resolve, ms));
      await bench.api.post(`/v2/runs/${run_id}/cancel`, {});
      await bench.until(run_id);
      const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: run_id } });
      const { state } = await withTemporal(
        service().temporalAddress,
        (client) =>
          client.workflow.getHandle(runWorkflowId(body.data[0].run_id)).result() as Promise<{ state: string }>,
      );
      expect(state).toBe(body.data[0].state);
    }
  });

  it("keeps a workflow that starts late from executing anything", async () => {
    const http = { id: "http-0", type: "http", config: { url: `${target.url}/late` } };
    const project_id = await bench.deploy(flow([http, { id: "out-0", type: "output" }], ["http-0>out-0"]));
    const run_at = new Date(Date.now() + 3_600_000).toISOString();
    const { run_id } = await bench.start(project_id, {}, { run_at });
    const outcome = await withTemporal(service().temporalAddress, async (client) => {
      const workflowId = runWorkflowId(run_id);
      // The API responds once the row is written, and starts the workflow afterwards.
      const describe = () => client.workflow.getHandle(workflowId).describe();
      await expect.poll(() => describe().then(({ status }) => status.name, String)).toBe("RUNNING");
      const { body } = await bench.api.post(`/v2/runs/${run_id}/cancel`, { reason: "changed my mind" });
      expect(body.state).toBe("CANCELLED");
      // The arguments of the first workflow, before it was terminated.
      const history = await client.workflow.getHandle(workflowId).fetchHistory();
      const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
      const input = await inputOf({ workflowId, history });
      return client.workflow.execute("runFlow", {
        args: [{ ...input, start_by: new Date(Date.now() - 1000).toISOString() }],
        taskQueue: started?.taskQueue?.name ?? "",
        workflowId,
      });
    });
    expect(outcome).toMatchObject({ state: "CANCELLED" });
    expect(target.hits("/late")).toBe(0);
  });

  it("is refused for a finished run", async () => {
    const run = await bench.run(
      flow(
        [
          { id: "tpl-0", type: "template", config: { template: "x" } },
          { id: "out-0", type: "output" },
        ],
        ["tpl-0>out-0"],
      ),
    );
    const { status, body } = await bench.api.post(`/v2/runs/${run.run_id}/cancel`, {});
    expect([status, body.code]).toEqual([409, "run_already_finished"]);
  });
});
