import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { openBench } from "../engine/support.ts";
import type { Bench } from "../engine/support.ts";
import { eventually } from "../support/scratch.ts";
import { startService } from "../support/service.ts";
import type { OwnService } from "../support/service.ts";
import { recordKill } from "./kill-table.ts";

const RUNS = 250;
const USER = "erased-1";

let service: OwnService;
let bench: Bench;
beforeAll(async () => {
  service = await startService({ workers: 1 });
  bench = await openBench(service);
});
afterAll(() => service?.close());

it("an erasure continues and counts everything once, even if its worker is killed while it deletes runs or histories", async () => {
  const project_id = await bench.deploy(echo());
  for (let n = 0; n < RUNS; n += 10) {
    const start = (user_id: string) => bench.start(project_id, { "in-0": "x".repeat(50_000) }, { user_id });
    await Promise.all(Array.from({ length: 10 }, () => start(USER)));
  }
  const { run_id } = await bench.start(project_id, { "in-0": "kept" }, { user_id: "kept-1" });
  await bench.until(run_id);
  const ofUser = async (query = {}) =>
    (await bench.api.get("/v2/runs", { query: { user_id: USER, page_size: 200, ...query } })).body.data;
  // One page is smaller than the list, so both states are queried, in the order in which runs pass through them.
  await eventually("the runs have ended", async () => {
    for (const state of ["PENDING", "RUNNING"]) if ((await ofUser({ state })).length > 0) return false;
    return true;
  });

  const { body: asked } = await bench.api.post("/v2/erasures", { user_id: USER });
  const now = async () => (await bench.api.get(`/v2/erasures/${asked.erasure_id}`)).body;
  const reached: string[] = [];
  for (const store of ["runs", "histories"]) {
    await eventually("it has come there", async () => ((await now()).removed[store] ?? 0) > 0, 120_000);
    for (const worker of service.worker) await worker.kill();
    const { state, removed } = await now();
    expect(state).toBe("RUNNING");
    reached.push(`${removed[store]} ${store}`);
    await delay(200);
    for (const worker of service.worker) await worker.restart();
  }
  await eventually("the erasure is done", async () => (await now()).state === "COMPLETED", 240_000);
  const { removed } = await now();
  expect(removed).toMatchObject({ runs: RUNS, node_runs: 2 * RUNS, histories: RUNS });
  expect(await ofUser()).toEqual([]);
  expect((await bench.api.get(`/v2/runs/${run_id}`)).body).toMatchObject({ outputs: { "out-0": "kept" } });
  recordKill({
    killed: "the worker: 2 kills",
    when: "while a user's data is erased",
    runs: RUNS,
    outcome: `all removed and counted once; ${reached.join(" and ")} were removed when it died`,
  });
}, 500_000);
