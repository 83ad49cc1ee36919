import { afterAll, beforeAll, expect, it } from "vitest";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { historiesOf, replay, withTemporal } from "../support/histories.ts";
import { service } from "../support/service.ts";
import { flow, openBench, type Bench } from "./support.ts";

let bench: Bench;
let target: HttpTarget;
beforeAll(async () => {
  [bench, target] = await Promise.all([openBench(), startHttpTarget()]);
});
afterAll(() => target.close());

/** A template over a text too long for the workflow, so each one is a local activity. */
const template = (id: string) => ({ id, type: "template", config: { template: "{{in-0 | size}}" } });
const http = (id: string) => ({ id, type: "http", config: { method: "GET", url: `${target.url}/x` } });
const delay = (id: string) => ({ id, type: "delay", config: { seconds: 0.05 } });

// Without the order that `inOrder` keeps (workflows/engine/step-end.ts), each of these histories fails to replay.
it("branches of local activities produce the same commands on replay", async () => {
  const nodes = [
    { id: "in-0", type: "input" },
    ...["a1", "a2", "a3", "b1", "b2", "c1", "c3", "d1", "d2", "d3", "d4", "e1", "e2"].map(template),
    ...["a4", "b3", "e3"].map(http),
    ...["c2", "d5"].map(delay),
    { id: "out-0", type: "output", config: { value: "{{a4.status}}{{b3.status}}{{c3}}{{d5}}{{e3.status}}" } },
  ];
  const chains = [
    ["a1", "a2", "a3", "a4"],
    ["b1", "b2", "b3"],
    ["c1", "c2", "c3"],
    ["d1", "d2", "d3", "d4", "d5"],
    ["e1", "e2", "e3"],
  ];
  const edges = chains.flatMap((chain) => ["in-0", ...chain].map((from, at) => `${from}>${chain[at] ?? "out-0"}`));
  const branches = flow(nodes, edges);
  const runs = await Promise.all([1, 2, 3].map(() => bench.run(branches, { "in-0": "x".repeat(300_000) })));
  expect(runs.map(({ state }) => state)).toEqual(runs.map(() => "COMPLETED"));
  const histories = await withTemporal(service().temporalAddress, async (each) =>
    (await Promise.all(runs.map(({ run_id }) => historiesOf(each, run_id)))).flat(),
  );
  expect(await replay(histories)).toEqual({});
});
