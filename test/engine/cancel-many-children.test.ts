import { afterAll, beforeAll, expect, it } from "vitest";
import { shareOf } from "../support/long.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";
import { flow, nested, openBench, type Run } from "./support.ts";

// cancel-children.test.ts tests the same with few child runs. The time for 120 depends on the machine.

const CHILDREN = shareOf(120);

let service: OwnService;
beforeAll(async () => {
  // Disables the sweeper, which would finalise the records of child runs that were never started.
  service = await startService({ env: { MILLRACE_SWEEP_INTERVAL_MS: "600000" } });
});
afterAll(() => service?.close());

it.each([0, 300, 1500])(
  "stops each of many child runs that are starting if the run is cancelled after %i ms",
  { timeout: 300_000 },
  async (ms) => {
    const bench = await openBench(service);
    const out = (id: string) => ({ id, type: "output" });
    const child = await bench.deploy(
      flow([{ id: "delay-0", type: "delay", config: { seconds: 3000 } }, out("out-0")], ["delay-0>out-0"]),
    );
    const map = (id: string) => ({
      id,
      type: "map",
      config: {
        items: JSON.stringify(Array.from({ length: CHILDREN / 2 }, (_, at) => at)),
        max_concurrency: 100,
        flow: nested([{ id: "sub-0", type: "subflow", config: { project_id: child } }, out("o")], ["sub-0>o"]),
      },
    });
    const { run_id } = await bench.start(
      await bench.deploy(
        flow([map("map-0"), map("map-1"), out("out-0"), out("out-1")], ["map-0>out-0", "map-1>out-1"]),
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, ms));
    const { status } = await bench.api.post(`/v2/runs/${run_id}/cancel`, {});
    expect(status).toBe(202);
    const states = await eventually(
      "the ends of the run and its children",
      async () => {
        const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: run_id, page_size: 200 } });
        const { body: run } = await bench.api.get(`/v2/runs/${run_id}`);
        const all = [run as Run, ...(body.data as Run[])].map(({ state }) => state);
        return all.every((state) => ["COMPLETED", "FAILED", "CANCELLED"].includes(state)) && all;
      },
      240_000,
    );
    expect([...new Set(states)]).toEqual(["CANCELLED"]);
  },
);
