import { afterAll, beforeAll, expect, it } from "vitest";
import { echo } from "../api/tenant.ts";
import { openBench, type Bench } from "../engine/support.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";
import { recordKill } from "./kill-table.ts";

const RUNS = 250;
const USER = "erased-1";

let service: OwnService;
let bench: Bench;
beforeAll(async () => {
  service = await startService({ workers: 2 });
  bench = await openBench(service);
});
afterAll(() => service?.close());

it("another worker continues an erasure and counts everything once if its worker is killed among runs or histories", async () => {
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
  const [first, second] = service.worker;
  for (const [store, dying] of [
    ["runs", first],
    ["histories", second],
  ] as const) {
    await eventually("it has come there", async () => ((await now()).removed[store] ?? 0) > 0, 120_000);
    await dying?.kill();
    const { state, removed } = await now();
    expect(state).toBe("RUNNING");
    reached.push(`${removed[store]} ${store}`);
  }
  // It has been dead since the first kill, so the second worker was the one at work.
  await first?.restart();
  await eventually("the erasure is done", async () => (await now()).state === "COMPLETED", 240_000);
  const { removed } = await now();
  expect(removed).toMatchObject({ runs: RUNS, node_runs: 2 * RUNS, histories: RUNS });
  expect(await ofUser()).toEqual([]);
  expect((await bench.api.get(`/v2/runs/${run_id}`)).body).toMatchObject({ outputs: { "out-0": "kept" } });
  recordKill({
    killed: "a worker of two, then the other one",
    when: "while a user's data is erased",
    runs: RUNS,
    outcome: `all removed and counted once; ${reached.join(" and ")} were removed when it died`,
  });
}, 500_000);
