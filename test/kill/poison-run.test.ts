import { cpSync, mkdtempSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { loadConfig } from "../../src/config.ts";
import { examine } from "../../src/services/system/doctor.ts";
import { runWorkflowId } from "../../src/temporal/ids.ts";
import { flow, openBench } from "../engine/support.ts";
import type { Bench } from "../engine/support.ts";
import { withTemporal } from "../support/histories.ts";
import { readMetrics } from "../support/metrics.ts";
import { eventually } from "../support/scratch.ts";
import { startServiceProcess } from "../support/service-processes.ts";
import type { ServiceProcess } from "../support/service-processes.ts";
import { startService } from "../support/service.ts";
import type { OwnService } from "../support/service.ts";
import { recordKill } from "./kill-table.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What the planted faults are set off by. */
const DEADLY = "a deadly step";
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

/** A copy of the build whose runs end their process, or fail, for certain inputs. */
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
  // Where a step's outcome is written down, before Temporal learns of it.
  const before = "async fn(_info, report) {\n";
  const chunks = readdirSync(join(dist, "chunks"))
    .filter((name) => name.endsWith(".js"))
    .map((name) => join(dist, "chunks", name));
  plant(
    chunks.find((file) => readFileSync(file, "utf8").includes(before)) ?? "",
    before,
    `if (JSON.stringify(report).includes(${JSON.stringify(DEADLY)})) process.kill(process.pid, "SIGKILL");\n`,
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
const statusOf = (runId: string): Promise<string> =>
  withTemporal(
    service.temporalAddress,
    async (client) => (await client.workflow.getHandle(runWorkflowId(runId)).describe()).status.name,
  );

describe("poison-run", () => {
  it("a run whose steps end every process is FAILED as stuck, and then all goes on", async () => {
    const flowId = await bench.deploy(echo);
    const { run_id } = await bench.start(flowId, { "in-0": DEADLY });
    let deaths = 0;
    const run = await eventually(
      "the run is settled",
      async () => {
        // As who supervises them would.
        for (const each of [api, worker].filter((process) => !process.running())) {
          deaths += 1;
          await each.restart();
        }
        const { body } = await bench.api.get(`/v2/runs/${run_id}`).catch(() => ({ body: undefined }));
        return body?.state === "FAILED" ? body : undefined;
      },
      180_000,
    );
    expect(run).toMatchObject({ state_reason: "stuck", error: { code: "stuck", retryable: false } });
    expect(deaths).toBeGreaterThan(0);
    expect(await statusOf(run_id)).toBe("TERMINATED");
    await eventually("both are there", async () => {
      for (const each of [api, worker].filter((process) => !process.running())) await each.restart();
      return api.running() && worker.running();
    });
    const other = await bench.start(flowId, { "in-0": "harmless" });
    expect(await bench.until(other.run_id)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "harmless" } });
    recordKill({
      killed: "every process that takes a step of one run, by that step",
      when: "its first step",
      runs: 1,
      outcome: "FAILED stuck, its workflow terminated; other runs go on",
    });
  });

  it("a run whose steps fail is reported as stuck, can be cancelled, and else is FAILED as stuck", async () => {
    const flowId = await bench.deploy(echo);
    const left = await bench.start(flowId, { "in-0": FAULTY });
    const { run_id } = await bench.start(flowId, { "in-0": FAULTY });
    const stuck = await eventually("it is seen to be stuck", async () => {
      const { body } = await bench.api.get(`/v2/runs/${run_id}`);
      return body.state_reason === "stuck" ? body : undefined;
    });
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
    // Steps that fail harm nobody else: twice as many are waited for.
    const run = await bench.until(left.run_id);
    expect(run).toMatchObject({ state: "FAILED", state_reason: "stuck", error: { code: "stuck" } });
    expect(run.error?.attempt).toBeGreaterThanOrEqual(6);
  });
});
