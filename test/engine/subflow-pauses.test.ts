import { beforeAll, describe, expect, it } from "vitest";
import { flow, nested, nodesOf, openBench, type Bench, type Run } from "./support.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});

const out = { id: "out-0", type: "output" };
const delay = (seconds: number) => ({ id: "delay-0", type: "delay", config: { seconds } });
const ask = (config: Record<string, unknown> = {}) => ({
  id: "approval-0",
  type: "approval",
  config: { message: "Go on?", ...config },
});
/** A flow that asks for approval and outputs the decision. */
const asking = (config?: Record<string, unknown>) =>
  flow([ask(config), { ...out, config: { value: "{{approval-0.action}}" } }], ["approval-0:approve>out-0"]);
const calling = (project_id: string, more: Record<string, unknown> = {}) => ({
  id: "flow-0",
  type: "subflow",
  config: { project_id },
  ...more,
});

/** The decision made in the child run. */
const answer = { ...out, config: { value: '{{flow-0["out-0"]}}' } };

async function childrenOf({ run_id }: Run): Promise<Run[]> {
  return (await bench.api.get("/v2/runs", { query: { parent_run_id: run_id } })).body.data as Run[];
}
const resume = (run: Run, body: Record<string, unknown> = {}) =>
  bench.api.post(`/v2/runs/${run.run_id}/resume`, { action: "approve", ...body });
const show = async ({ run_id }: Run): Promise<Run> => (await bench.api.get(`/v2/runs/${run_id}`)).body as Run;

describe("a pause inside a subflow", () => {
  it("appears in each enclosing run, and an answer to any of them continues all", async () => {
    const child = await bench.deploy(asking());
    const middle = await bench.deploy(flow([calling(child), answer], ["flow-0>out-0"]));
    const top = await bench.deploy(flow([calling(middle), answer], ["flow-0>out-0"]));

    const { status, body } = await bench.api.post(`/inference/v0/run/${bench.org_id}/${top}`, {});
    expect(status).toBe(200);
    expect(body).toMatchObject({
      state: "PAUSED",
      pause: { node_id: "approval-0", path: "flow-0/flow-0/approval-0", status: "waiting" },
    });
    const parent = await bench.until(body.run_id, "PAUSED");
    expect(parent.pauses).toMatchObject([{ path: "flow-0/flow-0/approval-0" }]);
    const [between] = await childrenOf(parent);
    expect(between).toMatchObject({ state: "PAUSED", pauses: [{ path: "flow-0/approval-0" }] });
    const [own] = await childrenOf(between as Run);
    expect(own).toMatchObject({ state: "PAUSED", pauses: [{ path: "approval-0" }] });

    const answered = await resume(parent);
    expect(answered).toMatchObject({ status: 202, body: { state: "RESUMED" } });
    expect(await bench.until(parent.run_id)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "approve" } });
    for (const run of [parent, between, own])
      expect(await show(run as Run)).toMatchObject({ state: "COMPLETED", pauses: [{ status: "resolved" }] });
    expect((await resume(own as Run)).status).toBe(409);
  });

  it("is separate for each item in a map of subflows, in the order of the items", async () => {
    const child = await bench.deploy(asking());
    const inner = nested([calling(child), { ...answer, id: "o" }], ["flow-0>o"]);
    const map = {
      id: "map-0",
      type: "map",
      config: { items: `[${Array.from({ length: 12 }, (_, at) => at).join(",")}]`, flow: inner, max_concurrency: 12 },
    };
    const project = await bench.deploy(flow([map, out], ["map-0>out-0"]));
    const run = await bench.start(project);
    await expect.poll(async () => (await show(run)).pauses.length).toBe(12);
    const { pauses } = await bench.until(run.run_id, "PAUSED");
    expect(pauses.map(({ path }) => path)).toEqual(pauses.map((_, at) => `map-0[${at}]/flow-0/approval-0`));
    expect((await resume(run)).status).toBe(422);

    // One pause is decided in the child run that opened it, the others through the parent run.
    const children = await childrenOf(run);
    const [first, ...others] = pauses;
    const owner = children.find((each) => each.pauses.some(({ pause_id }) => pause_id === first?.pause_id));
    expect((await resume(owner as Run)).status).toBe(202);
    await bench.until(run.run_id, "PAUSED");
    for (const { pause_id } of others) expect((await resume(run, { pause_id })).status).toBe(202);
    expect(await bench.until(run.run_id)).toMatchObject({
      state: "COMPLETED",
      outputs: { "out-0": Array(12).fill("approve") },
    });
  });

  it("sets the parent to PAUSED only while nothing else runs there", async () => {
    const child = await bench.deploy(asking());
    const run = await bench.start(
      await bench.deploy(flow([calling(child), delay(1.5), out], ["flow-0>out-0", "delay-0>out-0"])),
    );
    await expect.poll(async () => (await show(run)).pauses.length).toBe(1);
    expect((await show(run)).state).toBe("RUNNING");
    const paused = await bench.until(run.run_id, "PAUSED");
    expect(nodesOf(paused)["delay-0"]?.state).toBe("COMPLETED");
    expect((await resume(run)).status).toBe(202);
    expect(await bench.until(run.run_id)).toMatchObject({ state: "COMPLETED" });
  });

  it("ends when the parent is cancelled", async () => {
    const run = await bench.start(
      await bench.deploy(flow([calling(await bench.deploy(asking())), out], ["flow-0>out-0"])),
    );
    await bench.until(run.run_id, "PAUSED");
    await bench.api.post(`/v2/runs/${run.run_id}/cancel`, {});
    expect(await bench.until(run.run_id)).toMatchObject({ state: "CANCELLED" });
    await expect.poll(async () => (await show(run)).pauses).toMatchObject([{ status: "cancelled" }]);
    expect((await resume(run)).status).toBe(409);
    expect(await childrenOf(run)).toMatchObject([{ state: "CANCELLED" }]);
  });

  it("expires, and the parent continues", async () => {
    const child = await bench.deploy(asking({ expires_in_seconds: 1, on_timeout: "approve" }));
    const run = await bench.start(await bench.deploy(flow([calling(child), answer], ["flow-0>out-0"])));
    await bench.until(run.run_id, "PAUSED");
    const ended = await bench.until(run.run_id);
    expect(ended).toMatchObject({
      state: "COMPLETED",
      outputs: { "out-0": "approve" },
      pauses: [{ status: "expired" }],
    });
  });

  it.concurrent.each([
    [
      "its own run is cancelled",
      {},
      async (run: Run) => {
        for (const { run_id } of await childrenOf(run)) await bench.api.post(`/v2/runs/${run_id}/cancel`, {});
      },
    ],
    ["its node runs out of time", { timeout_ms: 1000 }, async () => undefined],
  ])("is abandoned when %s, and the parent continues", async (_what, limit, giveUp) => {
    const sub = calling(await bench.deploy(asking()), { ...limit, on_error: "continue", default_output: "nobody" });
    const run = await bench.start(await bench.deploy(flow([sub, out], ["flow-0>out-0"])));
    await bench.until(run.run_id, "PAUSED");
    await giveUp(run);
    expect(await bench.until(run.run_id)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "nobody" } });
  });
});

it("a run whose last pause is abandoned completes", async () => {
  const map = {
    id: "map-0",
    type: "map",
    config: { items: "[1]", flow: nested([ask(), { id: "o", type: "output" }], ["approval-0:approve>o"]) },
    timeout_ms: 1000,
    on_error: "continue",
    default_output: "nobody",
  };
  const run = await bench.start(await bench.deploy(flow([map, out], ["map-0>out-0"])));
  await bench.until(run.run_id, "PAUSED");
  expect(await bench.until(run.run_id)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "nobody" } });
});
