import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { openBench, type Bench } from "../engine/support.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";
import { recordKill } from "./kill-table.ts";

const RUNS = 120;
const KILLS = 2;

let service: OwnService;
let bench: Bench;
beforeAll(async () => {
  service = await startService({ workers: 1 });
  bench = await openBench(service);
});
afterAll(() => service?.close());

it("a bulk run job creates each run once, even if its worker is killed twice", async () => {
  const project_id = await bench.deploy(echo());
  const inputs = Array.from({ length: RUNS }, (_, n) => `n${n}`);
  for (const input of inputs) await bench.start(project_id, { "in-0": input });
  const filter = { project_id, page_size: 200 };
  const ended = async (): Promise<Array<{ outputs: Record<string, string> }>> =>
    (await bench.api.get("/v2/runs", { query: { ...filter, state: "COMPLETED", order: "desc" } })).body.data;
  await eventually("the runs have ended", async () => (await ended()).length === RUNS);

  const { body: job } = await bench.api.post("/v2/run-jobs", { action: "replay", filter: { project_id } });
  expect(job.counts).toMatchObject({ matched: RUNS });
  const now = async () => (await bench.api.get(`/v2/run-jobs/${job.job_id}`)).body;
  const reached: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = (await now()).counts.done;
    await eventually("it has gone on", async () => (await now()).counts.done > before);
    for (const worker of service.worker) await worker.kill();
    reached.push((await now()).counts.done);
    await delay(200);
    for (const worker of service.worker) await worker.restart();
  }
  // Otherwise the kill came after the job had finished.
  expect(reached[0]).toBeLessThan(RUNS);

  await eventually("the job has ended", async () => (await now()).finished_at !== null, 90_000);
  expect(await now()).toMatchObject({ state: "COMPLETED", counts: { done: RUNS, skipped: 0, failed: 0 } });
  const made = async () => {
    const first = await bench.api.get("/v2/runs", { query: filter });
    const rest = await bench.api.get("/v2/runs", { query: { ...filter, cursor: first.body.cursor } });
    return [...first.body.data, ...rest.body.data] as Array<{ state: string; inputs: Record<string, string> }>;
  };
  await eventually("all have ended", async () => (await made()).every(({ state }) => state === "COMPLETED"));
  const given = (await made()).map((run) => run.inputs["in-0"]);
  expect(given.toSorted()).toEqual([...inputs, ...inputs].toSorted());
  recordKill({
    killed: `the worker: ${KILLS} kills`,
    when: "while a job replays runs",
    runs: RUNS,
    outcome: `${RUNS} runs made, each once; ${reached.join(" and ")} were done when it died`,
  });
});
