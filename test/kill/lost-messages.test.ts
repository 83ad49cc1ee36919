import { setTimeout as delay } from "node:timers/promises";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFileBlobStore } from "../../src/platform/blobs/blobs.ts";
import { createQuotaReader } from "../../src/services/accounts/quotas.ts";
import { createRun } from "../../src/services/runs/create-run.ts";
import { openDatabase } from "../../src/stores/db.ts";
import { getPlan } from "../../src/stores/projects/flow-versions.ts";
import { flow, openBench, type Bench } from "../engine/support.ts";
import { startInputs } from "../support/payloads.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { install, type Installation } from "./installation.ts";
import { recordKill } from "./kill-table.ts";

let installation: Installation;
let bench: Bench;
let target: HttpTarget;
beforeAll(async () => {
  installation = await install();
  [bench, target] = await Promise.all([openBench(installation), startHttpTarget()]);
});
afterAll(async () => {
  await installation?.close();
  await target?.close();
});

const out = { id: "out-0", type: "output" };
const greeting = flow(
  [{ id: "in-0", type: "input" }, { id: "tpl-0", type: "template", config: { template: "hello {{in-0}}" } }, out],
  ["in-0>tpl-0", "tpl-0>out-0"],
);
const asking = (url: string) => flow([{ id: "http-0", type: "http", config: { url } }, out], ["http-0>out-0"]);

interface Row {
  readonly state: string;
  readonly state_reason: string | null;
  readonly outputs: unknown;
}
const rowOf = async (runId: string): Promise<Row | undefined> =>
  (await installation.sql<Row>("select state, state_reason, outputs from runs where run_id = $1", [runId]))[0];
const until = (runId: string, state: string): Promise<Row> =>
  eventually(
    `run ${runId} is ${state}`,
    async () => {
      const row = await rowOf(runId);
      return row?.state === state && row;
    },
    40_000,
  );

describe("a crash between a run's row and its workflow's start", () => {
  it("a run accepted while Temporal is down starts when Temporal is back, even if the api was killed", async () => {
    const project_id = await bench.deploy(greeting);
    await installation.temporal.kill();
    const posted = await Promise.all(["a", "b", "c"].map((name) => bench.start(project_id, { "in-0": name })));
    for (const run of posted) expect(run.state).toBe("PENDING");
    await installation.api[0]?.kill();
    await installation.temporal.restart();
    // The API is still down, so the worker's sweeper starts the run.
    for (const [at, { run_id }] of posted.entries()) {
      expect((await until(run_id, "COMPLETED")).outputs).toEqual({ "out-0": { v: `hello ${"abc"[at]}` } });
    }
    await installation.api[0]?.restart();
    recordKill({
      killed: "temporal, then the api",
      when: "after 201, before any workflow was started",
      runs: 3,
      outcome: "COMPLETED, started by the worker's sweeper while the api was still down",
    });
  });

  it("a run whose api was killed before it called Temporal starts with everything the request contained", async () => {
    const project_id = await bench.deploy({ ...greeting, settings: { redact: ["$.inputs.in-0"] } });
    const run_id = await orphan(project_id, { "in-0": "you" });
    expect((await rowOf(run_id))?.state).toBe("PENDING");
    expect(await until(run_id, "COMPLETED")).toMatchObject({ outputs: { "out-0": { v: "hello you" } } });
    recordKill({
      killed: "api (its death after the insert, exactly)",
      when: "between the row's commit and the call to Temporal; redacted inputs",
      runs: 1,
      outcome: "COMPLETED, started by the sweeper",
    });
  });

  it("a run that is cancelled before it could start never starts", async () => {
    const project_id = await bench.deploy(asking(`${target.url}/never`));
    await installation.temporal.kill();
    const { run_id } = await bench.start(project_id);
    // The SDK retries the call that starts the workflow, so a workflow may begin when Temporal comes back.
    expect((await bench.api.post(`/v2/runs/${run_id}/cancel`, { reason: "changed my mind" })).status).toBe(202);
    await installation.temporal.restart();
    expect(await until(run_id, "CANCELLED")).toMatchObject({ state_reason: "changed my mind" });
    expect(target.hits("/never")).toBe(0);
    recordKill({
      killed: "temporal",
      when: "before POST and its cancel",
      runs: 1,
      outcome: "CANCELLED, nothing executed",
    });
  });

  /** Inserts a run's row, like an API that is killed right after the insert. */
  async function orphan(projectId: string, inputs: Record<string, string>): Promise<string> {
    const db = openDatabase({
      url: installation.databaseUrl,
      poolSize: 2,
      applicationName: "millrace-test",
      onError: () => undefined,
    });
    const blobs = await createFileBlobStore(installation.blobDir);
    const killed = (): Promise<never> => Promise.reject(new Error("the process was killed"));
    try {
      const plan = await db.system((connection) => getPlan(connection, projectId, 1));
      if (!plan) throw new Error("the flow has no plan");
      const { run_id } = await createRun(
        {
          db,
          blobs,
          startInputs,
          starter: { start: killed },
          onStartDelayed: () => undefined,
          limits: {
            max_iterations: 100,
            timeout_seconds: 60,
            max_timeout_seconds: 60,
            quotas: createQuotaReader(db, {}),
            max_nested_runs: 200,
          },
        },
        {
          org_id: bench.org_id,
          run_id: uuidv7(),
          project_id: projectId,
          version: 1,
          plan,
          inputs,
          user_id: null,
          run_type: "api",
          ran_by_type: "system",
          ran_by_id: null,
        },
      );
      return run_id;
    } finally {
      blobs.close();
      await db.close();
    }
  }
});

describe("a signal lost in an outage of Temporal", () => {
  it("a cancel is repeated until it arrives, and reaches child runs", async () => {
    const child = await bench.deploy(asking(`${target.url}/hang`));
    const parent = await bench.deploy(
      flow([{ id: "sub-0", type: "subflow", config: { project_id: child, inputs: {} } }, out], ["sub-0>out-0"]),
    );
    const { run_id } = await bench.start(parent);
    await eventually("the child's request is there", () => target.hits("/hang") === 1);
    await installation.temporal.kill();
    expect((await bench.api.post(`/v2/runs/${run_id}/cancel`, { reason: "enough" })).status).toBe(202);
    // The API would retry its own call, so the outage outlasts the client's retries, and then the API is killed.
    await delay(500);
    await installation.api[0]?.kill();
    await installation.temporal.restart();
    const since = Date.now();
    expect(await until(run_id, "CANCELLED")).toMatchObject({ state_reason: "enough" });
    await eventually("no run is left", async () => {
      const [row] = await installation.sql<{ n: number }>(
        "select count(*)::integer as n from runs where parent_run_id = $1 and state = 'CANCELLED'",
        [run_id],
      );
      return row?.n === 1;
    });
    await eventually("the request was given up", () => target.active() === 0);
    await installation.api[0]?.restart();
    recordKill({
      killed: "temporal, then the api",
      when: "before POST cancel of a run whose sub-flow waits for an http node",
      runs: 2,
      outcome: `both CANCELLED ${((Date.now() - since) / 1000).toFixed(1)} s after the restart, the connection closed`,
    });
  });

  it("a decision on a pause is repeated until it is accepted", async () => {
    const project = await bench.deploy(
      flow(
        [
          { id: "approval-0", type: "approval", config: { message: "?" } },
          { ...out, config: { value: "{{approval-0.action}}" } },
        ],
        ["approval-0:approve>out-0"],
      ),
    );
    const { run_id } = await bench.start(project);
    await bench.until(run_id, "PAUSED");
    await installation.temporal.kill();
    expect((await bench.api.post(`/v2/runs/${run_id}/resume`, { action: "approve" })).status).toBe(202);
    expect((await bench.api.post(`/v2/runs/${run_id}/resume`, { action: "approve" })).status).toBe(409);
    // Longer than the client retries.
    await delay(500);
    await installation.api[0]?.kill();
    await installation.temporal.restart();
    expect(await until(run_id, "COMPLETED")).toMatchObject({ outputs: { "out-0": { v: "approve" } } });
    await installation.api[0]?.restart();
    recordKill({
      killed: "temporal, then the api",
      when: "before POST resume; the api after its 202",
      runs: 1,
      outcome: "COMPLETED: the sweeper repeated the signal",
    });
  });
});
