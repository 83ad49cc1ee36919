import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runWorkflowId, taskQueues } from "../../src/temporal/ids.ts";
import { flow, nested, nodesOf, openBench, type Bench, type Run } from "../engine/support.ts";
import { historiesOf, inputOf, withTemporal, type WorkflowHistory } from "../support/histories.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { install, type Installation } from "./installation.ts";
import { recordKill } from "./kill-table.ts";
import { loseWorkflow } from "./lose-workflow.ts";

let installation: Installation;
let bench: Bench;
let target: HttpTarget;
beforeAll(async () => {
  target = await startHttpTarget();
  installation = await install();
  bench = await openBench(installation);
});
afterAll(async () => {
  await installation?.close();
  await target?.close();
});

const out = { id: "out-0", type: "output" };
const slow = flow(
  [{ id: "in-0", type: "input" }, { id: "delay-0", type: "delay", config: { seconds: 600 } }, out],
  ["in-0>delay-0", "delay-0>out-0"],
);

/** A flow that completes immediately, or fails for the input "no". */
const guarded = flow(
  [
    { id: "in-0", type: "input" },
    { id: "guard-0", type: "guard", config: { check: "nodes['in-0'] != 'no'", message: "no" } },
    { ...out, config: { value: "{{in-0}}" } },
  ],
  ["in-0>guard-0", "guard-0>out-0"],
);

/** Too long to be stored in the run's record. */
const LONG_TEXT = "x".repeat(30_000);

/** A flow that calls the target and then waits at this node; its output needs the result of the call. */
const calling = (name: string, wait: { id: string; type: string; config: object }, way = wait.id) =>
  flow(
    [
      { id: "in-0", type: "input" },
      {
        id: "http-0",
        type: "http",
        config: { method: "POST", url: `${target.url}/echo?${name}`, body: { x: LONG_TEXT } },
      },
      wait,
      { ...out, config: { value: "{{http-0.body.method}}" } },
    ],
    ["in-0>http-0", `http-0>${wait.id}`, `${way}>out-0`],
  );

/** A map with one child run per item. */
const mapOver = (project_id: string) =>
  flow(
    [
      { id: "in-0", type: "input" },
      {
        id: "map-0",
        type: "map",
        config: {
          items: '["quick", "slow"]',
          flow: nested(
            [
              { id: "http-1", type: "http", config: { method: "POST", url: `${target.url}/echo?before` } },
              { id: "sub-0", type: "subflow", config: { project_id, inputs: { "in-0": "item" } } },
              { id: "o", type: "output" },
            ],
            ["http-1>sub-0", "sub-0>o"],
          ),
        },
      },
      out,
    ],
    ["in-0>map-0", "map-0>out-0"],
  );

/** A flow that calls the target, and waits afterwards if its input is "slow". */
const slowAtTimes = () =>
  flow(
    [
      { id: "in-0", type: "input" },
      { id: "http-0", type: "http", config: { method: "POST", url: `${target.url}/echo?item` } },
      { id: "if-0", type: "condition", config: { cases: [{ id: "slow", when: 'nodes["in-0"] == "slow"' }] } },
      { id: "delay-0", type: "delay", config: { seconds: 15 } },
      { ...out, config: { value: "{{in-0}} {{http-0.body.method}}" } },
    ],
    ["in-0>http-0", "http-0>if-0", "if-0:case:slow>delay-0", "if-0:else>out-0", "delay-0>out-0"],
  );

/** Outputs of a flow that waits like `slow`; they are available before the wait, and too long for the workflow's result. */
const early = Array.from({ length: 20 }, (_, index) => `out-${index + 1}`);
const slowWithLongOutputs = flow(
  [
    { id: "in-0", type: "input" },
    { id: "delay-0", type: "delay", config: { seconds: 600 } },
    ...early.map((id) => ({ id, type: "output" })),
  ],
  ["in-0>delay-0", ...early.map((id) => `in-0>${id}`)],
);

/** Starts a run and waits until its delay has started. */
async function waiting(definition = slow, input = "x"): Promise<string> {
  const { run_id } = await bench.start(await bench.deploy(definition), { "in-0": input });
  await eventually("the delay has started", async () => {
    const { body } = await bench.api.get(`/v2/runs/${run_id}`, { query: { expand: "nodes" } });
    return nodesOf(body as Run)["delay-0"]?.state === "RUNNING";
  });
  return run_id;
}

const temporal = <T>(work: Parameters<typeof withTemporal<T>>[1]): Promise<T> =>
  withTemporal(installation.temporalAddress, work);

/** Expects the state of a run whose workflow closed without recording it: FAILED with this code, and all nodes finished. */
async function expectFailed(runId: string, code: string): Promise<Run> {
  const run = await bench.until(runId);
  expect(run).toMatchObject({ state: "FAILED", state_reason: code, error: { code } });
  expect(run.nodes.filter(({ state }) => ["RUNNING", "RETRYING", "PAUSED"].includes(state))).toEqual([]);
  return run;
}

describe("a workflow that closes without recording its run", () => {
  it("terminated by an operator: the run is FAILED, its child is cancelled", async () => {
    const child = await bench.deploy(slow);
    const parent = flow(
      [{ id: "sub-0", type: "subflow", config: { project_id: child, inputs: { "in-0": '"x"' } } }, out],
      ["sub-0>out-0"],
    );
    const { run_id } = await bench.start(await bench.deploy(parent));
    const childId = await eventually("the child runs", async () => {
      const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: run_id, state: "RUNNING" } });
      return body.data[0]?.run_id as string | undefined;
    });
    await temporal((client) => client.workflow.getHandle(runWorkflowId(run_id)).terminate("by an operator"));
    const run = await expectFailed(run_id, "workflow_terminated");
    expect(nodesOf(run)["sub-0"]).toMatchObject({ state: "CANCELLED" });
    expect((await bench.until(childId)).state).toBe("CANCELLED");
    recordKill({
      killed: "the workflow, terminated at Temporal",
      when: "in a sub-flow's delay",
      runs: 2,
      outcome: "FAILED workflow_terminated; the child CANCELLED",
    });
  });

  it("terminated as stuck by a process that dies before recording it: the run is FAILED as stuck", async () => {
    const { run_id } = await bench.start(await bench.deploy(slow), { "in-0": "x" });
    await bench.until(run_id, "RUNNING");
    await installation.sql("update runs set state_reason = 'stuck' where run_id = $1", [run_id]);
    await temporal((client) => client.workflow.getHandle(runWorkflowId(run_id)).terminate("stuck"));
    expect((await expectFailed(run_id, "stuck")).error).toMatchObject({ retryable: false });
    recordKill({
      killed: "the process that terminates a stuck workflow",
      when: "before it records that",
      runs: 1,
      outcome: "FAILED stuck",
    });
  });

  it("a terminated child run fails its parent with the error code subflow_cancelled", async () => {
    const child = await bench.deploy(slow);
    const parent = flow(
      [{ id: "sub-0", type: "subflow", config: { project_id: child, inputs: { "in-0": '"x"' } } }, out],
      ["sub-0>out-0"],
    );
    const { run_id } = await bench.start(await bench.deploy(parent));
    const childId = await eventually("the child runs", async () => {
      const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: run_id, state: "RUNNING" } });
      return body.data[0]?.run_id as string | undefined;
    });
    await temporal((client) => client.workflow.getHandle(runWorkflowId(childId)).terminate("by an operator"));
    await expectFailed(childId, "workflow_terminated");
    expect(await bench.until(run_id)).toMatchObject({ state: "FAILED", error: { code: "subflow_cancelled" } });
  });

  it("cancelled by an operator in Temporal: the run is CANCELLED and keeps its outputs so far", async () => {
    const input = "x".repeat(15_000);
    const run_id = await waiting(slowWithLongOutputs, input);
    await temporal((client) => client.workflow.getHandle(runWorkflowId(run_id)).cancel());
    const { state, outputs } = await bench.until(run_id);
    expect({ state, outputs }).toEqual({
      state: "CANCELLED",
      outputs: Object.fromEntries(early.map((id) => [id, input])),
    });
  });

  it("deleted from Temporal: the run continues, and a child run that Temporal cancelled with it is not repeated", async () => {
    const child = await bench.deploy(calling("child", { id: "delay-0", type: "delay", config: { seconds: 600 } }));
    const parent = flow(
      [
        { id: "in-0", type: "input" },
        {
          id: "http-0",
          type: "http",
          config: { method: "POST", url: `${target.url}/echo?parent`, body: { x: LONG_TEXT } },
        },
        { id: "sub-0", type: "subflow", config: { project_id: child, inputs: { "in-0": '"x"' } }, on_error: "branch" },
        { ...out, config: { value: "{{http-0.body.method}}" } },
      ],
      ["in-0>http-0", "http-0>sub-0", "sub-0:error>out-0"],
    );
    const { run_id } = await bench.start(await bench.deploy(parent), { "in-0": "x" });
    const childId = await eventually("the child's delay has started", async () => {
      const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: run_id } });
      const [found] = body.data as Run[];
      if (!found) return undefined;
      const { body: shown } = await bench.api.get(`/v2/runs/${found.run_id}`, { query: { expand: "nodes" } });
      return nodesOf(shown as Run)["delay-0"]?.state === "RUNNING" ? found.run_id : undefined;
    });
    await loseWorkflow(installation, run_id);
    const run = await bench.until(run_id);
    expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "POST" }, error: null });
    expect(nodesOf(run)["sub-0"]?.error).toMatchObject({ code: "subflow_cancelled" });
    expect((await bench.until(childId)).state).toBe("CANCELLED");
    expect(target.counts()).toEqual(
      new Map([
        [`${run_id}:http-0`, 1],
        [`${childId}:http-0`, 1],
      ]),
    );
    recordKill({
      killed: "the workflow of a run with a sub-flow, deleted at Temporal",
      when: "in the sub-flow's delay",
      runs: 2,
      outcome: "COMPLETED by its branch for the CANCELLED sub-flow, each call made once",
    });
  });

  it("timed out by Temporal: the run is FAILED", async () => {
    // The workflow gets a limit that Temporal enforces before the run's own limit.
    const run_id = await waiting();
    await temporal(async (client) => {
      const [history] = (await historiesOf(client, run_id)) as [WorkflowHistory];
      const handle = client.workflow.getHandle(runWorkflowId(run_id));
      await handle.terminate("to be started again");
      await client.workflow.start("runFlow", {
        workflowId: runWorkflowId(run_id),
        taskQueue: taskQueues(installation.taskQueue).runs,
        args: [await inputOf(history)],
        workflowExecutionTimeout: "2 seconds",
      });
    });
    await expectFailed(run_id, "run_timeout");
    recordKill({
      killed: "the workflow, timed out at Temporal",
      when: "in a delay",
      runs: 1,
      outcome: "FAILED run_timeout",
    });
  });

  it.each([
    ["COMPLETED", "x", null],
    ["FAILED", "no", { code: "guard_failed", node_id: "guard-0" }],
  ])("closed, but the record of its end is lost: the run is %s like its workflow", async (state, input, error) => {
    const { run_id } = await bench.run(guarded, { "in-0": input });
    // As after restoring the database from a backup.
    for (const before of ["RUNNING", "PAUSED"]) {
      await installation.sql("alter table runs disable trigger runs_transition");
      await installation.sql(
        `update runs set state = $2, state_reason = null, outputs = null, error = null, finished_at = null, check_at = now()
         where run_id = $1`,
        [run_id, before],
      );
      await installation.sql("alter table runs enable trigger runs_transition");
      const run = await bench.until(run_id);
      expect(run).toMatchObject({ state, state_reason: error?.code ?? null, error });
      expect(run.outputs).toEqual(error ? {} : { "out-0": input });
    }
    recordKill({
      killed: "the record of the end (a restored database)",
      when: "after the workflow's end",
      runs: 1,
      outcome: `${state}, from the workflow's own result`,
    });
  });

  it("completed, but the final state could not be written: the run is COMPLETED, with its outputs", async () => {
    const project = await bench.deploy(guarded);
    await installation.sql(`create function refuse_end() returns trigger language plpgsql as $$
      begin
        if new.project_id = '${project}' and new.state = 'COMPLETED' then raise exception 'not today'; end if;
        return new;
      end $$`);
    await installation.sql(
      "create trigger refuse_end before update on runs for each row execute function refuse_end()",
    );
    const { run_id } = await bench.start(project, { "in-0": "x" });
    // The API accepts the run before it starts the workflow.
    await eventually("the workflow has closed", () =>
      temporal(async (client) => {
        const found = client.workflow.getHandle(runWorkflowId(run_id)).result();
        return found
          .then(() => true)
          .catch((error: Error) => error.name !== "WorkflowNotFoundError" && Promise.reject(error));
      }),
    );
    const { body: before } = await bench.api.get(`/v2/runs/${run_id}`);
    expect(before.state).toBe("PENDING");
    await installation.sql("drop trigger refuse_end on runs");
    const run = await bench.until(run_id);
    expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "x" }, error: null });
    expect(run.progress_data).toMatchObject({ total_nodes: 3, completed_nodes: 3 });
    recordKill({
      killed: "every write of the end",
      when: "in the workflow's last step",
      runs: 1,
      outcome: "COMPLETED with its outputs, by the reconciler",
    });
  });
});

async function haveEnded(runIds: readonly string[]): Promise<boolean> {
  const answers = await Promise.all(runIds.map((id) => bench.api.get(`/v2/runs/${id}`)));
  return answers.every(({ body }) => body.finished_at !== null);
}

describe("the complete loss of Temporal's database", () => {
  it("lets runs continue from their records, accepted runs start, and new runs complete", async () => {
    const deciding = { id: "approval-0", type: "approval", config: { message: "?" } };
    const quick = await bench.deploy(flow([{ id: "in-0", type: "input" }, out], ["in-0>out-0"]));
    const approvals = await bench.deploy(calling("approval", deciding, "approval-0:approve"));
    const delays = await bench.deploy(calling("delay", { id: "delay-0", type: "delay", config: { seconds: 15 } }));
    const start = async (project: string) => (await bench.start(project, { "in-0": "x" })).run_id;
    const [before, during, after, waiting] = [
      await start(approvals),
      await start(approvals),
      await start(approvals),
      await start(delays),
    ];
    for (const each of [before, during, after]) await bench.until(each, "PAUSED");
    await eventually("the delay has started", async () => {
      const { body } = await bench.api.get(`/v2/runs/${waiting}`, { query: { expand: "nodes" } });
      return nodesOf(body as Run)["delay-0"]?.state === "RUNNING";
    });
    const mapping = await start(await bench.deploy(mapOver(await bench.deploy(slowAtTimes()))));
    const items = await eventually("one sub-flow has completed, the other waits", async () => {
      const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: mapping } });
      const children = body.data as Run[];
      const [slowOne] = children.filter(({ state }) => state === "RUNNING");
      if (children.length < 2 || !slowOne || !children.some(({ state }) => state === "COMPLETED")) return undefined;
      const { body: shown } = await bench.api.get(`/v2/runs/${slowOne.run_id}`, { query: { expand: "nodes" } });
      const waits = nodesOf(shown as Run)["delay-0"]?.state === "RUNNING";
      return waits ? [slowOne.run_id, ...children.map(({ run_id }) => run_id)] : undefined;
    });
    const pauses = (await bench.api.get(`/v2/runs/${after}`)).body.pauses;
    target.reset();
    await installation.temporal.kill();
    const { run_id: accepted } = await bench.start(quick, { "in-0": "later" });
    // The decision is made while Temporal is down.
    expect((await bench.api.post(`/v2/runs/${during}/resume`, { action: "approve" })).status).toBe(202);
    for (const end of ["", "-wal", "-shm"])
      rmSync(join(installation.temporal.dir, `temporal.db${end}`), { force: true });
    await installation.temporal.restart();
    // An open workflow under the child run's ID, which Temporal has not ended yet.
    const [slowItem = ""] = items;
    await temporal((client) =>
      client.workflow.start("runFlow", { workflowId: runWorkflowId(slowItem), taskQueue: "nobody", args: [] }),
    );
    const since = Date.now();
    expect((await bench.api.post(`/v2/runs/${before}/resume`, { action: "approve" })).status).toBe(202);

    // The run that was decided during the outage is checked early, not at the usual interval.
    await eventually("the runs have ended", () => haveEnded([before, during, waiting]), 45_000);
    for (const each of [before, during, waiting])
      expect(await bench.until(each)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "POST" } });
    await temporal(async (client) => {
      await eventually("the map has met the open workflow", async () => {
        const histories = await historiesOf(client, mapping).catch(() => []);
        return histories.some(({ history }) =>
          history.events?.some((event) => event.startChildWorkflowExecutionFailedEventAttributes),
        );
      });
      await client.workflow.getHandle(runWorkflowId(slowItem)).terminate("it has ended");
      // The child run is checked before the map asks for it again.
      await installation.sql("update runs set check_at = now() where run_id = $1", [slowItem]);
    });
    const values = ["quick POST", "slow POST"].map((value) => ({ "out-0": value }));
    expect(await bench.until(mapping)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": values } });
    for (const each of items) expect((await bench.until(each)).state).toBe("COMPLETED");
    expect(await bench.until(accepted)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "later" } });
    const settledMs = Date.now() - since;
    // The pause has the same ID as before.
    const { body: shown } = await bench.api.get(`/v2/runs/${after}`);
    expect([shown.state, shown.pauses]).toEqual(["PAUSED", pauses]);
    expect((await bench.api.post(`/v2/runs/${after}/resume`, { action: "approve" })).status).toBe(202);
    const last = await bench.until(after);
    expect(last).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "POST" } });
    // Recorded work is not executed again.
    expect(target.requests).toEqual([]);
    const { body: events } = await bench.api.get(`/v2/runs/${after}/events`);
    const seqs = events.data?.map(({ seq }: { seq: number }) => seq) ?? [];
    expect(seqs).toEqual([...seqs].toSorted((one: number, other: number) => one - other));
    const { run_id: fresh } = await bench.start(quick, { "in-0": "new" });
    expect(await bench.until(fresh)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "new" } });
    for (const each of [...installation.api, ...installation.worker]) expect(each.running()).toBe(true);
    recordKill({
      killed: "temporal, and its database removed",
      when: "a delay, three open approvals, a map over sub-flows, a run accepted and not started",
      runs: 6,
      outcome: `COMPLETED, no call made twice, the first five within ${(settledMs / 1000).toFixed(1)} s; new runs run; no process ended`,
    });
  });
});
