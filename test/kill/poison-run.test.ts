import { cpSync, mkdtempSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { loadConfig } from "../../src/config.ts";
import { examine } from "../../src/services/system/doctor.ts";
import { runWorkflowId, sliceWorkflowId } from "../../src/temporal/ids.ts";
import { flow, nested, openBench, type Bench } from "../engine/support.ts";
import { withTemporal } from "../support/histories.ts";
import { readMetrics } from "../support/metrics.ts";
import { eventually } from "../support/scratch.ts";
import { startServiceProcess, type ServiceProcess } from "../support/service-processes.ts";
import { startService, type OwnService } from "../support/service.ts";
import { recordKill } from "./kill-table.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Text that triggers the planted faults. */
const DEADLY = "a deadly step";
const DEADLY_ITEM = "a deadly item";
const DEADLY_NODE = "a deadly node";
const FAULTY = "a faulty step";

let service: OwnService;
let api: ServiceProcess;
let worker: ServiceProcess;
let bench: Bench;
beforeAll(async () => {
  service = await startService({ apis: 0, workers: 0, env: { MILLRACE_STUCK_ATTEMPTS: "3" } });
  const dist = faultyBuild();
  const { stateDir } = inject("millrace");
  [api, worker] = await Promise.all([
    startServiceProcess("api", service.env, stateDir, dist),
    startServiceProcess("worker", service.env, stateDir, dist),
  ]);
  bench = await openBench({ ...service, url: api.url });
});
afterAll(async () => {
  await Promise.all([api?.kill(), worker?.kill()]);
  await service?.close();
});

/** A copy of the build in which certain inputs kill the process or make a step fail. */
function faultyBuild(): string {
  const folder = mkdtempSync(join(inject("millrace").stateDir, "build-"));
  const dist = join(folder, "dist");
  cpSync(join(root, "dist"), dist, { recursive: true });
  cpSync(join(root, "package.json"), join(folder, "package.json"));
  cpSync(join(root, "migrations"), join(folder, "migrations"), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  plant(
    join(dist, "workflow-bundle.js"),
    "async function runFlow(input) {\n",
    `if (JSON.stringify(input.inputs).includes(${JSON.stringify(FAULTY)})) throw new Error("planted");\n`,
  );
  // The code that records the outcome of a step before Temporal learns of it.
  const before = "async fn(_info, report) {\n";
  const chunks = readdirSync(join(dist, "chunks"))
    .filter((name) => name.endsWith(".js"))
    .map((name) => join(dist, "chunks", name));
  plant(
    chunks.find((file) => readFileSync(file, "utf8").includes(before)) ?? "",
    before,
    `if (JSON.stringify(report).includes(${JSON.stringify(DEADLY)})) process.kill(process.pid, "SIGKILL");\n`,
  );
  // The code that executes a node.
  const executor = "async function execute(node, scope, input, signal) {\n";
  plant(
    chunks.find((file) => readFileSync(file, "utf8").includes(executor)) ?? "",
    executor,
    `if (JSON.stringify(scope).includes(${JSON.stringify(DEADLY_NODE)})) process.kill(process.pid, "SIGKILL");\n`,
  );
  // The code that writes the reports of nodes.
  const writer = "record: (report) => ";
  plant(
    chunks.find((file) => readFileSync(file, "utf8").includes(writer)) ?? "",
    writer,
    `JSON.stringify(report).includes(${JSON.stringify(`299 ${DEADLY_ITEM}`)}) && process.kill(process.pid, "SIGKILL") || `,
  );
  return dist;
}

function plant(file: string, after: string, fault: string): void {
  const code = readFileSync(file, "utf8");
  expect(code.split(after)).toHaveLength(2);
  writeFileSync(file, code.replace(after, after + fault));
}

const echo = flow(
  [
    { id: "in-0", type: "input" },
    { id: "out-0", type: "output" },
  ],
  ["in-0>out-0"],
);
const statusOf = (runId: string): Promise<string> => statusOfWorkflow(runWorkflowId(runId));

function statusOfWorkflow(id: string): Promise<string> {
  return withTemporal(
    service.temporalAddress,
    async (client) => (await client.workflow.getHandle(id).describe()).status.name,
  );
}

/** A map that is cut into slices, so that the run's own workflow only waits. The result of one item kills the process. */
const long = sliced({ seconds: 0 }, `{{item}} ${DEADLY_ITEM}`);
const waiting = sliced({ seconds: 600 }, "late");

function sliced(delay: { readonly seconds: number }, value: string) {
  return flow(
    [
      { id: "list-0", type: "code", config: { source: "function main() { return [...Array(300).keys()]; }" } },
      {
        id: "map-0",
        type: "map",
        config: {
          items: "nodes['list-0']",
          flow: nested(
            [
              { id: "wait-0", type: "delay", config: delay },
              { id: "o", type: "output", config: { value } },
            ],
            ["wait-0>o"],
          ),
        },
      },
      { id: "out-0", type: "output" },
    ],
    ["list-0>map-0", "map-0>out-0"],
  );
}

describe("poison-run", () => {
  /** Restarts dead processes, as a supervisor does. */
  async function restartDead(): Promise<number> {
    const dead = [api, worker].filter((process) => !process.running());
    for (const each of dead) await each.restart();
    return dead.length;
  }

  async function expectStuck(runId: string): Promise<void> {
    let deaths = 0;
    const run = await eventually(
      "the run is settled",
      async () => {
        deaths += await restartDead();
        const { body } = await bench.api.get(`/v2/runs/${runId}`).catch(() => ({ body: undefined }));
        return body?.state === "FAILED" ? body : undefined;
      },
      180_000,
    );
    expect(run).toMatchObject({ state_reason: "stuck", error: { code: "stuck", retryable: false } });
    expect(deaths).toBeGreaterThan(0);
    expect(await statusOf(runId)).toBe("TERMINATED");
    await eventually("both are there", async () => {
      await restartDead();
      return api.running() && worker.running();
    });
  }

  it("a run whose steps crash every process is FAILED as stuck, and other runs complete", async () => {
    const flowId = await bench.deploy(echo);
    const { run_id } = await bench.start(flowId, { "in-0": DEADLY });
    await expectStuck(run_id);
    const other = await bench.start(flowId, { "in-0": "harmless" });
    expect(await bench.until(other.run_id)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "harmless" } });
    recordKill({
      killed: "every process that takes a step of one run, by that step",
      when: "its first step",
      runs: 1,
      outcome: "FAILED stuck, its workflow terminated; other runs go on",
    });
  });

  it("a run with a slice whose steps crash every process is FAILED as stuck, and the slice is terminated", async () => {
    const { run_id } = await bench.start(await bench.deploy(long));
    await expectStuck(run_id);
    const slice = (from: number) => statusOfWorkflow(sliceWorkflowId(run_id, "map-0", from));
    expect(await slice(250)).toBe("TERMINATED");
    recordKill({
      killed: "every process that takes a step of one slice of a run, by that step",
      when: "its first steps",
      runs: 1,
      outcome: "FAILED stuck, the run's workflow and its slices terminated",
    });
  });

  it("a node that crashes every process that runs it fails after a few attempts", { timeout: 400_000 }, async () => {
    const definition = flow(
      [
        { id: "in-0", type: "input" },
        {
          id: "code-0",
          type: "code",
          config: { source: "function main({ text }) { return text; }", args: { text: "nodes['in-0']" } },
        },
        { id: "out-0", type: "output" },
      ],
      ["in-0>code-0", "code-0>out-0"],
    );
    const { run_id } = await bench.start(await bench.deploy(definition), { "in-0": DEADLY_NODE });
    const run = await eventually(
      "the run has failed",
      async () => {
        await restartDead();
        const { body } = await bench.api.get(`/v2/runs/${run_id}`).catch(() => ({ body: undefined }));
        return body?.state === "FAILED" ? body : undefined;
      },
      360_000,
    );
    expect(run.error).toMatchObject({ code: "worker_lost", node_id: "code-0" });
  });

  it("a forced cancel also ends the slices of a run", async () => {
    const { run_id } = await bench.start(await bench.deploy(waiting));
    const slice = (from: number) => statusOfWorkflow(sliceWorkflowId(run_id, "map-0", from));
    await eventually("its slices are under way", async () => (await slice(250).catch(() => "")) === "RUNNING");
    const { status } = await bench.api.post(`/v2/runs/${run_id}/cancel`, { reason: "enough", mode: "terminate" });
    expect(status).toBe(202);
    await eventually("the run is cancelled", async () => {
      const { body } = await bench.api.get(`/v2/runs/${run_id}`);
      return body.state === "CANCELLED";
    });
    // Temporal forwards a termination as a cancellation, so a slice may get either.
    for (const from of [0, 250]) expect(["TERMINATED", "CANCELLED"]).toContain(await slice(from));
  });

  it("a run whose steps fail is reported as stuck, can be cancelled, and otherwise is FAILED as stuck", async () => {
    const flowId = await bench.deploy(echo);
    const left = await bench.start(flowId, { "in-0": FAULTY });
    const { run_id } = await bench.start(flowId, { "in-0": FAULTY });
    const stuck = await eventually(
      "it is seen to be stuck",
      async () => {
        const { body } = await bench.api.get(`/v2/runs/${run_id}`);
        return body.state_reason === "stuck" ? body : undefined;
      },
      120_000,
    );
    expect(stuck.state).toBe("PENDING");
    const findings = await examine(loadConfig({ ...service.env }), join(root, "migrations"));
    expect(findings).toContainEqual(expect.objectContaining({ part: "Runs", state: "problem" }));
    expect(await readMetrics(worker)).toMatch(/^millrace_runs_stuck(\{.*\})? [12]$/m);
    expect((await bench.api.post(`/v2/runs/${run_id}/cancel`, { reason: "enough" })).status).toBe(202);
    const cancelled = await eventually("it is cancelled", async () => {
      const { body } = await bench.api.get(`/v2/runs/${run_id}`);
      return body.state === "CANCELLED" ? body : undefined;
    });
    expect(cancelled.state_reason).toBe("enough");
    expect(await statusOf(run_id)).toBe("TERMINATED");
    // Failing steps harm no other run, so twice as many are allowed before the run fails.
    const run = await bench.until(left.run_id);
    expect(run).toMatchObject({ state: "FAILED", state_reason: "stuck", error: { code: "stuck" } });
    expect(run.error?.attempt).toBeGreaterThanOrEqual(6);
  });
});
