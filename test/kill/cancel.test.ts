import { existsSync, readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { flow, nodesOf, openBench, type Bench, type Run } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { LONG } from "../support/long.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";
import { recordKill } from "./kill-table.ts";

/** Long before any run would finish without a cancellation (ms). The kill table shows the real time, about two seconds. */
const WITHIN_MS = 30_000;

let service: OwnService;
let target: HttpTarget;
let bench: Bench;
beforeAll(async () => {
  [service, target] = await Promise.all([startService({ workers: 2 }), startHttpTarget()]);
  bench = await openBench(service);
});
afterAll(async () => {
  await service?.close();
  await target?.close();
});

const out = { id: "out-0", type: "output" };
const one = (node: { id: string; type: string; config: object }) =>
  flow(
    [node, { id: "after-0", type: "http", config: { url: `${target.url}/after` } }, out],
    [`${node.id}>after-0`, "after-0>out-0"],
  );

/** Starts runs that are busy with http (four, so that each worker has some), code, a delay, and a child run with an approval. */
async function busyRuns(): Promise<string[]> {
  target.reset();
  const asking = await bench.deploy(one({ id: "http-0", type: "http", config: { url: `${target.url}/hang` } }));
  const projects = await Promise.all([
    bench.deploy(one({ id: "code-0", type: "code", config: { source: "function main() { for (;;) {} }" } })),
    bench.deploy(one({ id: "delay-0", type: "delay", config: { seconds: 600 } })),
    bench.deploy(one({ id: "sub-0", type: "subflow", config: { project_id: asking, inputs: {} } })),
  ]);
  const runs = await Promise.all([asking, asking, asking, asking, ...projects].map((id) => bench.start(id)));
  await eventually("all are busy", async () => {
    const seen = await Promise.all(
      runs.map(({ run_id }) => bench.api.get(`/v2/runs/${run_id}`, { query: { expand: "nodes" } })),
    );
    const busy =
      (await anyScriptRuns()) && seen.every(({ body }) => (body as Run).nodes.some(({ state }) => state === "RUNNING"));
    return busy && target.hits("/hang") === 5;
  });
  return runs.map(({ run_id }) => run_id);
}

/** Whether a child process of a worker is using CPU time, read from /proc if it exists. */
async function anyScriptRuns(): Promise<boolean> {
  const before = cpuTimes();
  await new Promise((resolve) => setTimeout(resolve, 500));
  // In 50 ticks, an endless loop gets at least a few even on a busy machine, and an idle process gets none.
  return [...cpuTimes()].some(([pid, ticks]) => ticks - (before.get(pid) ?? ticks) > 3);
}

function cpuTimes(): Map<number, number> {
  const times = new Map<number, number>();
  if (!existsSync("/proc/self/stat")) return times;
  const workers = new Set(service.worker.map((each) => each.pid()));
  for (const pid of readdirSync("/proc").map(Number).filter(Boolean)) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (workers.has(Number(fields[1]))) times.set(pid, Number(fields[11]));
    } catch {
      // The process has exited.
    }
  }
  return times;
}

/** Cancels all runs; returns the times until they were cancelled and until none of their work continued (ms). */
async function cancelAll(runs: readonly string[]): Promise<number> {
  const since = Date.now();
  const answers = await Promise.all(runs.map((id) => bench.api.post(`/v2/runs/${id}/cancel`, { reason: "enough" })));
  for (const { status } of answers) expect(status).toBe(202);
  await eventually("all are cancelled", async () => {
    const { body } = await bench.api.get("/v2/runs", { query: { state: "CANCELLED", page_size: 200 } });
    const cancelled = new Set(body.data.map((run: { run_id: string }) => run.run_id));
    return runs.every((id) => cancelled.has(id));
  });
  await eventually("every connection is closed", () => target.active() === 0);
  await eventually("no script runs", async () => !(await anyScriptRuns()));
  return Date.now() - since;
}

async function expectCancelled(runs: readonly string[]): Promise<void> {
  for (const id of runs) {
    const run = await bench.until(id);
    expect(run).toMatchObject({ state: "CANCELLED", state_reason: "enough" });
    const nodes = nodesOf(run);
    expect(nodes["after-0"]).toBeUndefined();
    expect(Object.values(nodes).map(({ state }) => state)).toEqual(["CANCELLED"]);
  }
  const { body } = await bench.api.get("/v2/runs", { query: { run_type: "sub_workflow" } });
  for (const child of body.data) expect(child.state).toBe("CANCELLED");
  expect(target.hits("/after")).toBe(0);
}

describe("a graceful cancel", () => {
  it.skipIf(LONG)("reaches http, code and delay nodes and a child run", async () => {
    const runs = await busyRuns();
    const tookMs = await cancelAll(runs);
    expect(tookMs).toBeLessThan(WITHIN_MS);
    await expectCancelled(runs);
    recordKill({
      killed: "nothing: graceful cancel",
      when: "in http (4), code, delay, a sub-flow's http",
      runs: runs.length + 1,
      outcome: `all CANCELLED and every connection closed in ${(tookMs / 1000).toFixed(1)} s`,
    });
  });

  it.runIf(LONG)("reaches them if one of two workers was just killed", async () => {
    const runs = await busyRuns();
    await service.worker[0]?.kill();
    const tookMs = await cancelAll(runs);
    expect(tookMs).toBeLessThan(WITHIN_MS);
    await expectCancelled(runs);
    await service.worker[0]?.restart();
    recordKill({
      killed: "one of two workers, then graceful cancel at once",
      when: "in http (4), code, delay, a sub-flow's http",
      runs: runs.length + 1,
      outcome: `all CANCELLED and every connection closed in ${(tookMs / 1000).toFixed(1)} s`,
    });
  });

  it.skipIf(LONG)("reaches them if every worker is down, because the api's own worker handles it", async () => {
    const runs = await busyRuns();
    await Promise.all(service.worker.map((each) => each.kill()));
    const tookMs = await cancelAll(runs);
    expect(tookMs).toBeLessThan(WITHIN_MS);
    await expectCancelled(runs);
    await Promise.all(service.worker.map((each) => each.restart()));
    recordKill({
      killed: "every worker, then graceful cancel at once",
      when: "in http (4), code, delay, a sub-flow's http",
      runs: runs.length + 1,
      outcome: `all CANCELLED in ${(tookMs / 1000).toFixed(1)} s, by the api's worker`,
    });
  });
});
