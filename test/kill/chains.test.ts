import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { flow, nodesOf, openBench, type Bench } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";

let own: OwnService;
let target: HttpTarget;
let bench: Bench;
beforeAll(async () => {
  [own, target] = await Promise.all([startService(), startHttpTarget()]);
  bench = await openBench(own);
});
afterAll(async () => {
  await own?.close();
  await target?.close();
});
beforeEach(() => target.reset());

type Node = Parameters<typeof flow>[0][number];
const out: Node = { id: "out-0", type: "output" };
const http = (id: string, path: string): Node => ({
  id,
  type: "http",
  config: { method: "POST", url: `${target.url}${path}` },
});
const post = (id: string, path: string): Node => ({
  id,
  type: "action",
  config: { provider_id: "http", action_id: "request", inputs: { method: "POST", url: `${target.url}${path}` } },
});
const inARow = (...nodes: readonly Node[]) =>
  flow(
    nodes,
    nodes.slice(1).map(({ id }, at) => `${nodes[at]?.id ?? ""}>${id}`),
  );

async function killWhileHeld(path: string): Promise<void> {
  await eventually("the node asks", () => target.hits(path) === 1);
  await own.worker[0]?.kill();
}

it("repeats only the node that ran when its worker was killed", async () => {
  const release = target.hold("/2");
  const { run_id } = await bench.start(
    await bench.deploy(
      inARow(http("http-0", "/0"), http("http-1", "/1"), http("http-2", "/2"), http("http-3", "/3"), out),
    ),
  );
  await killWhileHeld("/2");
  release();
  await own.worker[0]?.restart();
  const run = await bench.until(run_id);
  expect(run.state, JSON.stringify(run.error)).toBe("COMPLETED");
  expect(["/0", "/1", "/2", "/3"].map((path) => target.hits(path))).toEqual([1, 1, 2, 1]);
  expect(target.count(`${run_id}:http-2`)).toBe(2);
});

it("does not treat the nodes after the one that ran when the worker was killed as started", async () => {
  const release = target.hold("/0");
  const { run_id } = await bench.start(
    await bench.deploy(inARow(http("http-0", "/0"), post("act-0", "/1"), post("act-1", "/2"), out)),
  );
  await killWhileHeld("/0");
  release();
  await own.worker[0]?.restart();
  const run = await bench.until(run_id);
  expect(run.state, JSON.stringify(run.error)).toBe("COMPLETED");
  expect(["/0", "/1", "/2"].map((path) => target.hits(path))).toEqual([2, 1, 1]);
});

it("repeats neither an action with unknown outcome nor the nodes before it", async () => {
  const release = target.hold("/1");
  const { run_id } = await bench.start(
    await bench.deploy(inARow(http("http-0", "/0"), post("act-0", "/1"), post("act-1", "/2"), out)),
  );
  await killWhileHeld("/1");
  release();
  await own.worker[0]?.restart();
  const run = await bench.until(run_id);
  expect(run).toMatchObject({ state: "FAILED", error: { code: "outcome_unknown", node_id: "act-0" } });
  expect(["/0", "/1", "/2"].map((path) => target.hits(path))).toEqual([1, 1, 0]);
  expect(nodesOf(run)["http-0"]).toMatchObject({ state: "COMPLETED", attempts: 1 });
});
