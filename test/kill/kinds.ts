import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import { flow, nested } from "../engine/support.ts";

/** A flow that is running when a part is killed. */
export interface Kind {
  readonly name: string;
  readonly definition: FlowDefinition;
  readonly inputs: Record<string, unknown>;
  readonly outputs: unknown;
  /** Number of rows that its nodes write to node_runs. */
  readonly nodes: number;
  /** Number of requests if each is sent once. */
  readonly requests: number;
  /** SQL on node_runs n for run $1 and its child runs: whether the run is doing its work. */
  readonly underWay: string;
}

export const ROUNDS = 100;
export const ITEMS = 500;
const input = { id: "in-0", type: "input", config: { required: false, default: "x" } };
const out = { id: "out-0", type: "output" };
const running = (id: string): string => `bool_or(n.node_id = '${id}' and n.state in ('RUNNING', 'PAUSED'))`;

/** URLs that the kinds of work request; each has its own path, so that it can be delayed separately. */
export interface Addresses {
  readonly loop: string;
  readonly map: string;
  readonly slow: string;
}

/** A slow request; also the flow that the subflow calls. */
export function longHttp(slow: string): Kind {
  return {
    name: "long http",
    definition: flow(
      [
        input,
        { id: "http-0", type: "http", config: { method: "POST", url: slow, body: "{{in-0}}" } },
        { id: "tpl-0", type: "template", config: { template: "{{http-0.status}} {{http-0.body.body}}" } },
        out,
      ],
      ["in-0>http-0", "http-0>tpl-0", "tpl-0>out-0"],
    ),
    inputs: { "in-0": "hello" },
    outputs: { "out-0": "200 hello" },
    nodes: 4,
    requests: 1,
    underWay: running("http-0"),
  };
}

/** Every kind of work that a run may do, except documents, which are uploaded separately. */
export function allKinds({ loop, map, slow }: Addresses, child: string): Kind[] {
  const list = Array.from({ length: ITEMS }, (_, n) => n);
  return [
    {
      name: "short activities",
      definition: flow(
        [
          {
            id: "loop-0",
            type: "loop",
            config: {
              while: `index < ${ROUNDS}`,
              initial: '{"n": 0}',
              flow: nested(
                [
                  { id: "http-0", type: "http", config: { method: "POST", url: loop, body: "{{index}}" } },
                  {
                    id: "set-0",
                    type: "set",
                    config: { values: { n: 'last.n + (nodes["http-0"].status == 200 ? 1 : 0)' } },
                  },
                  { id: "o", type: "output" },
                ],
                ["http-0>set-0", "set-0>o"],
              ),
            },
          },
          out,
        ],
        ["loop-0>out-0"],
      ),
      inputs: {},
      outputs: { "out-0": { n: ROUNDS } },
      nodes: ROUNDS * 3 + 2,
      requests: ROUNDS,
      underWay: "count(*) filter (where n.node_id = 'http-0') > 5",
    },
    longHttp(slow),
    {
      name: "code",
      definition: flow(
        [
          input,
          {
            id: "code-0",
            type: "code",
            config: {
              args: { text: 'nodes["in-0"]' },
              source:
                "function main({ text }) { const end = Date.now() + 4000; let n = 0; while (Date.now() < end) n += 1; return text + (n > 0) }",
            },
          },
          out,
        ],
        ["in-0>code-0", "code-0>out-0"],
      ),
      inputs: { "in-0": "ran " },
      outputs: { "out-0": "ran true" },
      nodes: 3,
      requests: 0,
      underWay: running("code-0"),
    },
    {
      name: "delay",
      definition: flow(
        [
          input,
          { id: "delay-0", type: "delay", config: { seconds: 6 } },
          { id: "tpl-0", type: "template", config: { template: "after, {{in-0}}" } },
          out,
        ],
        ["in-0>delay-0", "delay-0>tpl-0", "tpl-0>out-0"],
      ),
      inputs: { "in-0": "you" },
      outputs: { "out-0": "after, you" },
      nodes: 4,
      requests: 0,
      underWay: running("delay-0"),
    },
    {
      name: "map of 500",
      definition: flow(
        [
          { id: "in-0", type: "input" },
          { id: "set-0", type: "set", config: { values: { list: 'json(nodes["in-0"])' } } },
          {
            id: "map-0",
            type: "map",
            config: {
              items: 'nodes["set-0"].list',
              max_concurrency: 10,
              flow: nested(
                [
                  { id: "http-0", type: "http", config: { method: "POST", url: map, body: "{{item}}" } },
                  { id: "o", type: "output", config: { value: "{{http-0.body.body}}" } },
                ],
                ["http-0>o"],
              ),
            },
          },
          out,
        ],
        ["in-0>set-0", "set-0>map-0", "map-0>out-0"],
      ),
      inputs: { "in-0": JSON.stringify(list) },
      outputs: { "out-0": list.map(String) },
      nodes: ITEMS * 2 + 4,
      requests: ITEMS,
      underWay: "count(*) filter (where n.node_id = 'http-0') > 40",
    },
    {
      name: "open approval",
      definition: flow(
        [
          input,
          { id: "approval-0", type: "approval", config: { message: "May {{in-0}}?" } },
          { id: "tpl-0", type: "template", config: { template: "{{approval-0.action}}: {{approval-0.data.note}}" } },
          { id: "tpl-1", type: "template", config: { template: "no" } },
          out,
        ],
        ["in-0>approval-0", "approval-0:approve>tpl-0", "approval-0:reject>tpl-1", "tpl-0>out-0", "tpl-1>out-0"],
      ),
      inputs: { "in-0": "she" },
      outputs: { "out-0": "approve: gladly" },
      // Including one node that is skipped, on the inactive branch.
      nodes: 4,
      requests: 0,
      underWay: running("approval-0"),
    },
    {
      name: "sub-flow",
      definition: flow(
        [
          input,
          { id: "sub-0", type: "subflow", config: { project_id: child, inputs: { "in-0": 'nodes["in-0"] + "!"' } } },
          out,
        ],
        ["in-0>sub-0", "sub-0>out-0"],
      ),
      inputs: { "in-0": "child" },
      outputs: { "out-0": { "out-0": "200 child!" } },
      // Nodes of the run and of its child run.
      nodes: 3 + 4,
      requests: 1,
      underWay: running("http-0"),
    },
  ];
}
