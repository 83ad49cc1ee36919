import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Explanation, Reason } from "../../src/services/system/explain-run.ts";
import { openDatabase, type Database } from "../../src/stores/db.ts";
import { runWorkflowId, taskQueues } from "../../src/temporal/ids.ts";
import { flow, openBench, type Bench } from "../engine/support.ts";
import { buildRun } from "../stores/rows.ts";
import { withTemporal } from "../support/histories.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";
import { millrace } from "./millrace.ts";

const UNKNOWN = "0197f0a0-0000-7000-8000-000000000000";

let service: OwnService;
/** Its worker is killed before the first test, because Temporal takes a minute to notice it. */
let left: OwnService;
/** A run that needs this worker. */
let abandoned: string;
let target: HttpTarget;
let bench: Bench;
beforeAll(async () => {
  target = await startHttpTarget();
  left = await startService();
  const party = await openBench(left);
  const project_id = await party.deploy(asking("/status?code=200"));
  await party.until((await party.start(project_id)).run_id, "COMPLETED");
  await left.worker[0]?.kill();
  abandoned = (await party.start(project_id)).run_id;
  // Runs that lost their workflow must not be repaired during the tests, and a worker executes one activity at a time.
  service = await startService({ env: { MILLRACE_STUCK_AFTER_MS: "3600000", MILLRACE_WORKER_ACTIVITIES: "1" } });
  bench = await openBench(service);
});
afterAll(async () => {
  await Promise.all([service?.close(), left?.close()]);
  await target?.close();
});

const output = { id: "out-0", type: "output" };
const only = (node: { id: string; type: string } & Record<string, unknown>) =>
  flow([node, output], [`${node.id}>out-0`]);
const asking = (path: string, more: Record<string, unknown> = {}) =>
  only({ id: "http-0", type: "http", config: { url: `${target.url}${path}` }, ...more });
const approval = () =>
  flow([{ id: "approval-0", type: "approval", config: { message: "?" } }, output], ["approval-0:approve>out-0"]);

async function start(definition: ReturnType<typeof only>, more: Record<string, unknown> = {}): Promise<string> {
  return (await bench.start(await bench.deploy(definition), {}, more)).run_id;
}

async function explain(run_id: string, of: OwnService = service): Promise<Explanation> {
  const { code, stdout, stderr } = await millrace(["doctor", "--explain", run_id, "--json"], of.env);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Explanation;
}

/** The reason with this code, once `explain` reports it. */
async function reason(run_id: string, code: Reason["code"], of: OwnService = service): Promise<Reason> {
  let last: Explanation | undefined;
  return eventually(`${code} as a reason`, async () => {
    last = await explain(run_id, of);
    return last.reasons.find((each) => each.code === code);
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(last)}`);
  });
}

describe("millrace doctor --explain", () => {
  it("names the approval that a run waits for, also in a child run, and the command to decide it", async () => {
    const project_id = await bench.deploy(approval());
    const run_id = await start(only({ id: "sub-0", type: "subflow", config: { project_id, inputs: {} } }));
    await bench.until(run_id, "PAUSED");
    const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: run_id } });
    const child = body.data[0].run_id as string;
    expect(await reason(run_id, "waits_for_run")).toMatchObject({ advice: `millrace doctor --explain ${child}` });
    const { text, advice } = await reason(child, "waits_for_person");
    expect(text).toMatch(
      /^Waiting for an approval at approval-0 \(approval\) since 2\d{3}-.*Z, without a time limit\.$/,
    );
    const { body: run } = await bench.api.get(`/v2/runs/${child}`);
    expect(advice).toContain(`--pause ${run.pauses[0].pause_id}`);
    const { code, stdout } = await millrace(["doctor", "--explain", child], service.env);
    expect(code).toBe(0);
    expect(stdout).toContain(`Run ${child} is PAUSED.\n- Waiting for an approval`);
  });

  it("names the time of the next attempt, and the last error", async () => {
    const retry = { max_attempts: 3, initial_interval_ms: 600_000, max_interval_ms: 600_000 };
    const run_id = await start(asking("/status?code=503", { retry }));
    const { text } = await reason(run_id, "waits_for_retry");
    expect(text).toMatch(/^http-0 is retried in \d+ s, at .*, after 1 failed attempt\. Last error: http_\w+: /);
  });

  it("names the end of a delay, and the start time of a scheduled run", async () => {
    const delayed = await start(only({ id: "delay-0", type: "delay", config: { seconds: 3600 } }));
    const { text } = await reason(delayed, "waits_for_time");
    const [, since = "", until = ""] = /^Delay at delay-0 since (\S+), until (\S+)\.$/.exec(text) ?? [];
    expect([text, Math.abs(Date.parse(until) - Date.parse(since) - 3_600_000) < 5000]).toEqual([text, true]);
    const run_at = new Date(Date.now() + 3_600_000).toISOString();
    const later = await start(approval(), { run_at });
    expect((await explain(later)).reasons).toEqual([
      { code: "not_yet", text: `Scheduled to start at ${run_at.replace(/\.\d+Z$/, "Z")} (run_at).` },
    ]);
  });

  it("names the node that is running, and workers without a free slot", async () => {
    const release = target.hold("/held");
    try {
      const first = await start(asking("/held"));
      expect((await reason(first, "executes")).text).toMatch(/^http-0 \(http\) is running since/);
      const second = await start(asking("/held"));
      expect((await reason(second, "busy_workers")).text).toMatch(
        /are queued: all 1 workers.*last polled at 2\d{3}-\S+Z\./,
      );
    } finally {
      release();
    }
  });

  it("names the error of a finished run, and the missing workflow of an unfinished one", async () => {
    const failed = await bench.run(only({ id: "guard-0", type: "guard", config: { check: "false", message: "no" } }));
    const [end] = (await explain(failed.run_id)).reasons;
    expect(end).toMatchObject({ code: "ended", text: expect.stringContaining("at node guard-0: no") });
    const run_id = await start(approval());
    await bench.until(run_id, "PAUSED");
    const connection = await Connection.connect({ address: service.temporalAddress });
    await new Client({ connection }).workflow.getHandle(`run-${run_id}`).terminate("by the test");
    await connection.close();
    expect((await reason(run_id, "workflow_missing")).text).toContain("(terminated)");
    expect(await millrace(["doctor", "--explain", UNKNOWN], service.env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Run ${UNKNOWN} not found.`),
    });
    expect(await millrace(["doctor", "--explain", "it"], service.env)).toMatchObject({ code: 2 });
  });

  it("names a queue that no worker polls, and a Temporal server that does not respond", async () => {
    const lonely = await startService({ workers: 0 });
    try {
      const party = await openBench(lonely);
      const { run_id } = await party.start(await party.deploy(asking("/status?code=200")));
      const { text, advice } = await reason(run_id, "no_worker", lonely);
      expect(text).toContain(`the task queue ${lonely.taskQueue}`);
      expect(advice).toContain("nodes in MILLRACE_WORKER_QUEUES");
      const cut = { ...lonely, env: { ...lonely.env, TEMPORAL_ADDRESS: "127.0.0.1:1" } };
      expect((await reason(run_id, "temporal_unreachable", cut)).advice).toContain("TEMPORAL_ADDRESS");
    } finally {
      await lonely.close();
    }
  });

  it("names a run that is being cancelled, one with a stuck workflow, and one that has not started", async () => {
    const halted = await startService({ env: { MILLRACE_API_WORKER: "false", MILLRACE_STUCK_AFTER_MS: "3600000" } });
    try {
      const party = await openBench(halted);
      const project_id = await party.deploy(approval());
      const { run_id: paused } = await party.start(project_id);
      await party.until(paused, "PAUSED");
      const { run_id: delayed } = await party.start(
        await party.deploy(only({ id: "delay-0", type: "delay", config: { seconds: 3 } })),
      );
      await reason(delayed, "waits_for_time", halted);
      await halted.worker[0]?.kill();
      const overdue = await eventually("the delay is over", async () => {
        const found = await reason(delayed, "waits_for_time", halted);
        return found.text.includes("ago") ? found : undefined;
      });
      expect(overdue.text).toMatch(
        /^The delay at delay-0 ended at 2\S+Z, \d+ s ago, but no worker has continued the run\.$/,
      );
      expect(overdue.advice).toContain("A worker of the queue `runs` continues the run");
      expect((await party.api.post(`/v2/runs/${paused}/cancel`, {})).status).toBeLessThan(300);
      const { text, advice } = await reason(paused, "is_cancelled", halted);
      expect(text).toMatch(/^Cancellation was requested at 2\d{3}-.*Z; the run's nodes are being stopped\.$/);
      expect(advice).toContain(`millrace runs cancel ${paused} --terminate`);

      const { run_id: failing } = await party.start(project_id);
      expect((await explain(failing, halted)).reasons.map(({ code }) => code)).not.toContain("is_stuck");
      await failTasks(halted, failing, 2);
      const stuck = await reason(failing, "is_stuck", halted);
      expect(stuck.text).toMatch(/^The run's workflow is stuck: its last \d+ tasks failed\.$/);
      expect(stuck.advice).toContain("go back to the previous version");

      // As if the API had died after it accepted the run.
      await halted.api[0]?.kill();
      const accepted = await openRows(halted, (database) => buildRun(database, { org_id: party.org_id, project_id }));
      const waiting = await explain(accepted, halted);
      expect(waiting.state).toBe("PENDING");
      expect(waiting.reasons).toEqual([
        {
          code: "not_started",
          text: expect.stringMatching(/^The run was accepted at 2\d{3}-.*Z, but its workflow has not started yet\.$/),
          advice: expect.stringContaining("starts it within seconds"),
        },
      ]);
    } finally {
      await halted.close();
    }
  });

  it("names a queue whose last worker has stopped, and doctor reports a problem", async () => {
    const gone = async () => (await explain(abandoned, left)).reasons.find(({ code }) => code === "no_worker")?.text;
    const text = `the task queue ${taskQueues(left.taskQueue).nodes}`;
    await expect.poll(async () => (await gone()) ?? "", { timeout: 120_000, interval: 1000 }).toContain(text);
    const { code, stdout } = await millrace(["doctor"], left.env);
    expect([code, stdout]).toEqual([1, expect.not.stringContaining("No problems found")]);
    expect(stdout).toMatch(/activity tasks of \S+-nodes, and 1 are waiting/);
  }, 240_000);
});

/** Polls workflow tasks of a run and fails them, like a worker whose code throws. */
async function failTasks({ temporalAddress, taskQueue }: OwnService, runId: string, count: number): Promise<void> {
  await withTemporal(temporalAddress, async ({ connection, workflowService }) => {
    const identity = "test";
    for (let failed = 0; failed < count;) {
      const task = await connection.withDeadline(Date.now() + 60_000, () =>
        workflowService.pollWorkflowTaskQueue({
          namespace: "default",
          taskQueue: { name: taskQueues(taskQueue).runs },
          identity,
        }),
      );
      if (task.taskToken.length === 0) continue;
      await workflowService.respondWorkflowTaskFailed({ namespace: "default", taskToken: task.taskToken, identity });
      if (task.workflowExecution?.workflowId === runWorkflowId(runId)) failed += 1;
    }
  });
}

async function openRows<T>({ databaseUrl }: OwnService, work: (database: Database) => Promise<T>): Promise<T> {
  const options = { url: databaseUrl, poolSize: 1, applicationName: "millrace-test", onError: () => undefined };
  const database = openDatabase(options);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
