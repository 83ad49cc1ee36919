import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { flow, nested, openBench, type Bench } from "../engine/support.ts";
import { LONG } from "../support/long.ts";
import { client, service, startService, type OwnService } from "../support/service.ts";
import { readMetrics } from "../support/metrics.ts";

let bench: Bench;
let startedAt: string;
/** A separate installation if no shared one exists. */
let own: OwnService | undefined;
beforeAll(async () => {
  if (LONG) own = await startService();
  bench = await openBench(own);
});
afterAll(() => own?.close());

/** Changes when the API process restarts, which also executes run workflows. */
async function apiStarted(): Promise<string> {
  const body = await readMetrics(own ?? service());
  return /^process_start_time_seconds\S* (\S+)$/m.exec(body)?.[1] ?? "";
}
beforeEach(async () => {
  startedAt = await apiStarted();
  expect(startedAt).not.toBe("");
});
afterEach(async () => {
  expect(await apiStarted()).toBe(startedAt);
});

/** The run in its terminal state; the wait is long enough for a busy machine. */
async function ended(runId: string): Promise<unknown> {
  for (;;) {
    const { body } = await bench.api.get(`/v2/runs/${runId}`, { query: { wait_seconds: 25 } });
    if (body.finished_at !== null) return body;
  }
}

const echoItem = nested([{ id: "o", type: "output", config: { value: "{{item}}" } }], []);
const numbers = (count: number): string => JSON.stringify(Array.from({ length: count }, (_, n) => n));
const map = (items: string, inner: unknown, more: object = {}) => ({
  id: "map-0",
  type: "map",
  config: { items, flow: inner, ...more },
});
const out = (from: string) => ({ id: "out-0", type: "output", config: { value: `{{${from} | size}}` } });

/** The largest list that a run may have; in npm test a smaller one that still needs several workflow steps. */
const INLINE = LONG ? 10_000 : 2000;

// All flows in one list; none of them may take down a workflow step or a process.
describe("huge-list", { timeout: 180_000 }, () => {
  const hundreds = [
    `a map of ${INLINE} inline items, a hundred at once`,
    "json(nodes['in-0'])",
    echoItem,
    INLINE,
  ] as const;
  const nestedMaps = [
    "a map of 99 maps of 100 inline items",
    "json(nodes['in-0'])",
    nested(
      [
        { id: "map-1", type: "map", config: { items: numbers(100), flow: echoItem, max_concurrency: 100 } },
        { id: "o", type: "output", config: { value: "{{map-1 | size}}" } },
      ],
      ["map-1>o"],
    ),
    99,
  ] as const;

  it.each(LONG ? [hundreds, nestedMaps] : [hundreds])("runs %s", async (_, items, inner, count) => {
    const definition = flow(
      [{ id: "in-0", type: "input" }, map(items, inner, { max_concurrency: 100 }), out("map-0")],
      ["in-0>map-0", "map-0>out-0"],
    );
    const { run_id } = await bench.start(await bench.deploy(definition), { "in-0": numbers(count) });
    expect(await ended(run_id)).toMatchObject({ outputs: { "out-0": String(count) } });
  });

  it.runIf(LONG)("runs a loop of 5000 inline iterations", async () => {
    const definition = flow(
      [
        {
          id: "loop-0",
          type: "loop",
          config: {
            while: "index < 5000",
            max_iterations: 6000,
            flow: nested([{ id: "o", type: "output", config: { value: "{{index}}" } }], []),
          },
        },
        { id: "out-0", type: "output", config: { value: "{{loop-0}}" } },
      ],
      ["loop-0>out-0"],
    );
    const { run_id } = await bench.start(await bench.deploy(definition), {});
    expect(await ended(run_id)).toMatchObject({ outputs: { "out-0": "4999" } });
  });
});

describe("regex-dos", { timeout: 180_000 }, () => {
  /** Uses almost all the work that one expression may do. */
  const costly = 'nodes["in-0"].split(",").map(x, nodes["in-0"].split(",").filter(y, y == x).size()).size()';

  it.skipIf(LONG)("fails a node with many expressions that are costly one by one", async () => {
    const values = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`v${n}`, costly]));
    const definition = flow(
      [{ id: "in-0", type: "input" }, { id: "set-0", type: "set", config: { values } }, out("set-0")],
      ["in-0>set-0", "set-0>out-0"],
    );
    const run = await bench.run(definition, { "in-0": Array.from({ length: 1000 }, (_, n) => n).join(",") });
    expect(run).toMatchObject({ state: "FAILED", error: { code: "expression_too_costly", node_id: "set-0" } });
  });

  it.runIf(LONG)("runs many nodes that are each costly", async () => {
    const inner = nested(
      [
        { id: "s", type: "set", config: { values: { n: costly } } },
        { id: "o", type: "output", config: { value: "{{s.n}}" } },
      ],
      ["s>o"],
    );
    const definition = flow(
      [{ id: "in-0", type: "input" }, map(numbers(40), inner, { max_concurrency: 100 }), out("map-0")],
      ["in-0>map-0", "map-0>out-0"],
    );
    const inputs = { "in-0": Array.from({ length: 700 }, (_, n) => n).join(",") };
    const { run_id } = await bench.start(await bench.deploy(definition), inputs);
    expect(await ended(run_id)).toMatchObject({ outputs: { "out-0": "40" } });
  });

  it.skipIf(LONG)("serves other runs while many templates run at their limit at the same time", async () => {
    const template = "{% for i in (1..9000000) %}{% for j in (1..9000000) %}{% endfor %}{% endfor %}";
    const definition = flow(
      [{ id: "in-0", type: "input" }, { id: "tpl-0", type: "template", config: { template } }, out("tpl-0")],
      ["in-0>tpl-0", "tpl-0>out-0"],
    );
    const project = await bench.deploy(definition);
    const runs = await Promise.all(Array.from({ length: 8 }, () => bench.start(project, { "in-0": "x" })));
    let over = false;
    const all = Promise.all(runs.map(({ run_id }) => ended(run_id))).finally(() => {
      over = true;
    });
    let answers = 0;
    while (!over) {
      expect((await client(own ?? service()).get("/healthz")).status).toBe(200);
      answers += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (const run of await all) expect(run).toMatchObject({ state: "FAILED", error: { code: "template_failed" } });
    // A process that is blocked by a template responds only after it, so at most one response per template would arrive.
    expect(answers).toBeGreaterThan(2 * runs.length);
  });
});
