import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { flow, nested, openBench, type Bench, type Run } from "./support.ts";

let bench: Bench;
let target: HttpTarget;
/** A flow that takes ten minutes. */
let child: string;
beforeAll(async () => {
  [bench, target] = await Promise.all([openBench(), startHttpTarget()]);
  child = await bench.deploy(
    flow([{ id: "delay-0", type: "delay", config: { seconds: 600 } }, out("out-0")], ["delay-0>out-0"]),
  );
});
afterAll(() => target.close());

const out = (id: string) => ({ id, type: "output" });
const list = (count: number) => JSON.stringify(Array.from({ length: count }, (_, at) => at));
const delays = () => nested([{ id: "delay-1", type: "delay", config: { seconds: 600 } }, out("o")], ["delay-1>o"]);

/** A map with many child runs. */
const calls = (count: number) => ({
  id: "map-0",
  type: "map",
  config: {
    items: list(count),
    max_concurrency: 100,
    flow: nested([{ id: "sub-0", type: "subflow", config: { project_id: child } }, out("o")], ["sub-0>o"]),
  },
});
const alone = (node: { id: string; type: string; config: object }) => flow([node, out("out-0")], [`${node.id}>out-0`]);

/** Waits until a run and all its child runs have finished; returns the run and the states of the child runs. */
async function allEnded(runId: string): Promise<{ run: Run; children: string[] }> {
  const run = await bench.until(runId);
  const children = await eventually("the ends of the children", async () => {
    const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: runId, page_size: 200 } });
    const states = (body.data as Run[]).map(({ state }) => state);
    return states.every((state) => ["COMPLETED", "FAILED", "CANCELLED"].includes(state)) && states;
  });
  return { run, children: [...new Set(children)] };
}

async function cancelled(runId: string): Promise<Awaited<ReturnType<typeof allEnded>>> {
  const { status } = await bench.api.post(`/v2/runs/${runId}/cancel`, {});
  expect(status).toBe(202);
  return allEnded(runId);
}

describe("child runs that are starting stop", () => {
  // Temporal loses a cancellation of a child that it has not started yet, within a few milliseconds.
  it.concurrent.each([0, 60, 150])("if the run is cancelled after %i ms", { timeout: 120_000 }, async (ms) => {
    const { run_id } = await bench.start(await bench.deploy(alone(calls(10))));
    await new Promise((resolve) => setTimeout(resolve, ms));
    const { run, children } = await cancelled(run_id);
    expect(run.state).toBe("CANCELLED");
    expect(children.filter((state) => state !== "CANCELLED")).toEqual([]);
  });

  it.concurrent("if the run reaches its time limit", { timeout: 120_000 }, async () => {
    const project = await bench.deploy(alone(calls(10)));
    const { run_id } = await bench.start(project, {}, { timeout_seconds: 1 });
    const { run, children } = await allEnded(run_id);
    expect(run).toMatchObject({ state: "FAILED", state_reason: "run_timeout" });
    expect(children.filter((state) => state !== "CANCELLED")).toEqual([]);
  });

  it.concurrent("if a node beside them fails", { timeout: 120_000 }, async () => {
    const failing = { id: "http-0", type: "http", config: { url: `${target.url}/status?code=400` } };
    const { run_id } = await bench.start(
      await bench.deploy(flow([calls(10), failing, out("out-0"), out("out-1")], ["map-0>out-0", "http-0>out-1"])),
    );
    const { run, children } = await allEnded(run_id);
    expect(run).toMatchObject({ state: "FAILED", state_reason: "http_status" });
    expect(children.filter((state) => state !== "CANCELLED")).toEqual([]);
  });
});

it.each([0, 100])(
  "slices that are starting stop if the run is cancelled after %i ms",
  { timeout: 120_000 },
  async (ms) => {
    const map = { id: "map-0", type: "map", config: { items: list(1000), max_concurrency: 1, flow: delays() } };
    const { run_id } = await bench.start(await bench.deploy(alone(map)));
    await new Promise((resolve) => setTimeout(resolve, ms));
    expect((await cancelled(run_id)).run.state).toBe("CANCELLED");
  },
);

describe("a loop that only computes", () => {
  const heavy = "{% for i in (1..200) %}{% for j in (1..200) %}{% assign x = i %}{% endfor %}{% endfor %}x";
  const loop = (max_iterations: number) => ({
    id: "loop-0",
    type: "loop",
    config: {
      while: "true",
      max_iterations,
      on_exhausted: "continue",
      flow: nested([{ id: "tpl-1", type: "template", config: { template: heavy } }, out("o")], ["tpl-1>o"]),
    },
  });

  it("stops soon after it is cancelled", { timeout: 120_000 }, async () => {
    // The loop takes some seconds, less than the time after which Temporal itself would fail the step.
    const { run_id } = await bench.start(await bench.deploy(alone(loop(150))));
    await new Promise((resolve) => setTimeout(resolve, 1200));
    const { status } = await bench.api.post(`/v2/runs/${run_id}/cancel`, { reason: "enough" });
    expect(status).toBe(202);
    const run = await bench.until(run_id);
    expect(run).toMatchObject({ state: "CANCELLED", state_reason: "enough" });
    expect(run.nodes.filter(({ type }) => type === "template").length).toBeLessThan(150);
  });

  it("stops at the time limit of its run", { timeout: 120_000 }, async () => {
    const project = await bench.deploy(alone(loop(1000)));
    const { run_id } = await bench.start(project, {}, { timeout_seconds: 2 });
    expect(await bench.until(run_id)).toMatchObject({ state: "FAILED", state_reason: "run_timeout" });
  });
});

it(
  "a run whose cancellation was accepted ends as CANCELLED, even just before its end",
  { timeout: 120_000 },
  async () => {
    const project = await bench.deploy(alone({ id: "tpl-0", type: "template", config: { template: "x" } }));
    const ends: Array<readonly [number, string]> = [];
    for (let ms = 0; ms < 30; ms += 3) {
      const { run_id } = await bench.start(project);
      await new Promise((resolve) => setTimeout(resolve, ms));
      const { status } = await bench.api.post(`/v2/runs/${run_id}/cancel`, {});
      ends.push([status, (await bench.until(run_id)).state]);
    }
    expect(ends.filter(([status, state]) => state !== (status === 202 ? "CANCELLED" : "COMPLETED"))).toEqual([]);
  },
);
