import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import { flow, nested, type Bench } from "../engine/support.ts";
import { eventually } from "../support/scratch.ts";

/** A run whose history is stored, for parts of the engine that no example uses. */
export interface Scenario {
  readonly name: string;
  readonly definition: FlowDefinition | ((bench: Bench) => Promise<FlowDefinition>);
  readonly inputs?: Record<string, unknown>;
  /** What happens while the run is in progress. */
  readonly meanwhile?: (bench: Bench, runId: string) => Promise<void>;
}

const out = { id: "out-0", type: "output" };

/** `target` is the URL of an HTTP target. */
export function engineScenarios(target: string): Scenario[] {
  const flaky = { id: "http-0", type: "http", config: { url: `${target}/flaky?times=1` } };
  const ask = { id: "approval-0", type: "approval", config: { message: "?", expires_in_seconds: 1 } };
  return [
    {
      name: "retries",
      definition: flow([{ ...flaky, retry: { max_attempts: 3, initial_interval_ms: 10 } }, out], ["http-0>out-0"]),
    },
    {
      name: "failure",
      definition: flow(
        [{ id: "guard-0", type: "guard", config: { check: "false", message: "no" } }, out],
        ["guard-0>out-0"],
      ),
    },
    {
      name: "cancelled",
      definition: flow([{ id: "delay-0", type: "delay", config: { seconds: 60 } }, out], ["delay-0>out-0"]),
      async meanwhile(bench, runId) {
        await bench.until(runId, "RUNNING");
        await bench.api.post(`/v2/runs/${runId}/cancel`, { reason: "for the record" });
      },
    },
    {
      name: "run-timeout",
      definition: flow([{ id: "delay-0", type: "delay", config: { seconds: 60 } }, out], ["delay-0>out-0"], {
        settings: { timeout_seconds: 1 },
      }),
    },
    {
      name: "pause-expired",
      definition: flow(
        [{ ...ask, config: { ...ask.config, on_timeout: "branch" } }, out],
        ["approval-0:timeout>out-0"],
      ),
    },
    {
      name: "two-pauses-of-a-map",
      definition: flow(
        [
          {
            id: "map-0",
            type: "map",
            config: {
              items: '["a", "b"]',
              on_item_error: "collect",
              flow: nested(
                [
                  { id: "approval-0", type: "approval", config: { message: "{{item}}?" } },
                  { id: "o", type: "output", config: { value: "{{approval-0.action}}" } },
                ],
                ["approval-0:approve>o"],
              ),
            },
          },
          out,
        ],
        ["map-0>out-0"],
      ),
      async meanwhile(bench, runId) {
        const { pauses } = await bench.until(runId, "PAUSED");
        for (const { pause_id } of pauses)
          await bench.api.post(`/v2/runs/${runId}/resume`, { pause_id, action: "approve" });
      },
    },
    {
      // Recorded before such work moved out of workflow code; runs from that time still do it there.
      name: "long-steps",
      definition: flow(
        [
          { id: "in-0", type: "input" },
          {
            id: "map-0",
            type: "map",
            config: {
              items: 'nodes["in-0"].split("")',
              max_concurrency: 20,
              flow: nested([{ id: "o", type: "output", config: { value: "{{item}}" } }], []),
            },
          },
          {
            id: "loop-0",
            type: "loop",
            config: {
              while: "index < 1100",
              max_iterations: 1200,
              flow: nested([{ id: "o", type: "output", config: { value: "{{index}}" } }], []),
            },
          },
          {
            id: "set-0",
            type: "set",
            config: {
              values: {
                n: 'nodes["map-0"].map(x, nodes["map-0"].filter(y, y == x).size()).size()',
                last: 'nodes["loop-0"]',
              },
            },
          },
          out,
        ],
        ["in-0>map-0", "map-0>loop-0", "loop-0>set-0", "set-0>out-0"],
      ),
      inputs: { "in-0": "x".repeat(1200) },
    },
    {
      // Recorded before ends were written while other nodes are in progress.
      name: "told-late",
      definition: flow(
        [
          { id: "in-0", type: "input", config: { required: false } },
          { id: "early", type: "output", config: { value: "early" } },
          { id: "delay-0", type: "delay", config: { seconds: 2 } },
          { id: "http-0", type: "http", config: { url: `${target}/delay?ms=400` } },
          { id: "tpl-0", type: "template", config: { template: "{{http-0.status}}" } },
          out,
        ],
        ["in-0>early", "in-0>delay-0", "in-0>http-0", "http-0>tpl-0", "tpl-0>out-0", "delay-0>out-0"],
      ),
    },
    {
      // Recorded before a child run received its own signal when its parent is cancelled.
      name: "cancelled-child",
      async definition(bench) {
        const nodes = [
          { id: "delay-0", type: "delay", config: { seconds: 60 } },
          { id: "http-0", type: "http", config: { url: `${target}/delay?ms=60000` } },
        ];
        const project_id = await bench.deploy(flow([...nodes, out], ["delay-0>out-0", "http-0>out-0"]));
        return flow([{ id: "sub-0", type: "subflow", config: { project_id } }, out], ["sub-0>out-0"]);
      },
      async meanwhile(bench, runId) {
        await eventually("the child runs", async () => {
          const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: runId } });
          return body.data[0]?.state === "RUNNING";
        });
        await bench.api.post(`/v2/runs/${runId}/cancel`, {});
      },
    },
    {
      name: "long-value",
      definition: flow(
        [
          {
            id: "code-0",
            type: "code",
            config: { source: 'function main() { return ["x".repeat(200000), "y"]; }' },
          },
          {
            id: "map-0",
            type: "map",
            config: {
              items: 'nodes["code-0"]',
              flow: nested(
                [
                  { id: "tpl-0", type: "template", config: { template: "{{item | size}}" } },
                  { id: "o", type: "output" },
                ],
                ["tpl-0>o"],
              ),
            },
          },
          out,
        ],
        ["code-0>map-0", "map-0>out-0"],
      ),
    },
    {
      name: "slices",
      definition: flow(
        [
          {
            id: "loop-0",
            type: "loop",
            config: {
              while: "index < 252",
              max_iterations: 300,
              initial: "0",
              flow: nested(
                [
                  { id: "delay-0", type: "delay", config: { seconds: 0 } },
                  {
                    id: "tpl-0",
                    type: "template",
                    config: { template: "{{index}}{% for n in (1..2) %}{{ n }}{% endfor %}" },
                  },
                  { id: "o", type: "output" },
                ],
                ["delay-0>tpl-0", "tpl-0>o"],
              ),
            },
          },
          out,
        ],
        ["loop-0>out-0"],
      ),
    },
  ];
}
