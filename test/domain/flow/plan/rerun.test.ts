import { describe, expect, it } from "vitest";
import { reuseFor } from "../../../../src/domain/flow/plan/rerun.ts";
import type { Plan, PlanNode } from "../../../../src/domain/flow/plan/types.ts";
import type { CheckpointNode } from "../../../../src/domain/runs/run.ts";

function plan(edges: ReadonlyArray<readonly [string, string]>, lone: readonly string[] = []): Plan {
  const ids = [...new Set([...edges.flat(), ...lone])];
  const node = (id: string): PlanNode => ({
    id,
    type: "set",
    config: { values: {} },
    execution: "inline",
    retry: { max_attempts: 1, initial_interval_ms: 1, backoff: 1, max_interval_ms: 1 },
    on_error: "fail",
    reads: [],
  });
  return {
    nodes: ids.map(node),
    edges: edges.map(([source, target]) => ({ source, source_handle: "out", target })),
    settings: {},
  };
}
const done = (...ids: string[]): Record<string, CheckpointNode> =>
  Object.fromEntries(ids.map((id) => [id, { value: { v: id }, handles: ["out"], state: "COMPLETED" }]));
const kept = (request: Parameters<typeof reuseFor>[0]): string[] | null => {
  const reuse = reuseFor(request);
  return reuse && Object.keys(reuse).toSorted();
};

const chain = plan([
  ["a", "b"],
  ["b", "c"],
  ["c", "d"],
]);

describe("reuseFor", () => {
  it("reuses all finished nodes when the run resumes where it failed", () => {
    expect(kept({ plan: chain, checkpoint: done("a", "b"), from: "failed", replaced: [] })).toEqual(["a", "b"]);
  });

  it("drops the chosen node and everything after it", () => {
    expect(kept({ plan: chain, checkpoint: done("a", "b", "c"), from: { node_id: "b" }, replaced: [] })).toEqual(["a"]);
  });

  it("keeps branches beside the chosen node and drops the join after it", () => {
    const diamond = plan([
      ["a", "left"],
      ["a", "right"],
      ["left", "join"],
      ["right", "join"],
    ]);
    expect(
      kept({ plan: diamond, checkpoint: done("a", "left", "right", "join"), from: { node_id: "left" }, replaced: [] }),
    ).toEqual(["a", "right"]);
  });

  it("can resume from a node that the earlier run never reached", () => {
    expect(kept({ plan: chain, checkpoint: done("a", "b"), from: { node_id: "d" }, replaced: [] })).toEqual(["a", "b"]);
  });

  it("does not reuse an input that is replaced, but keeps nodes that read it before the resume point", () => {
    expect(kept({ plan: chain, checkpoint: done("a", "b", "c"), from: { node_id: "d" }, replaced: ["a"] })).toEqual([
      "b",
      "c",
    ]);
  });

  it("drops nodes that another version of the flow does not have", () => {
    expect(kept({ plan: plan([["a", "z"]]), checkpoint: done("a", "b"), from: "failed", replaced: [] })).toEqual(["a"]);
  });

  it("returns null for a node that the plan does not have", () => {
    expect(reuseFor({ plan: chain, checkpoint: done("a"), from: { node_id: "nowhere" }, replaced: [] })).toBeNull();
    expect(reuseFor({ plan: chain, checkpoint: done("a"), from: { node_id: "constructor" }, replaced: [] })).toBeNull();
  });

  it("walks a long chain and a wide diamond without recursion or repetition", () => {
    const long = plan(Array.from({ length: 999 }, (_, i) => [`n${i}`, `n${i + 1}`] as const));
    expect(kept({ plan: long, checkpoint: done("n0", "n500", "n999"), from: { node_id: "n1" }, replaced: [] })).toEqual(
      ["n0"],
    );
    const layers = Array.from({ length: 20 }, (_, layer) =>
      [0, 1, 2].flatMap((from) => [0, 1, 2].map((to) => [`l${layer}-${from}`, `l${layer + 1}-${to}`] as const)),
    ).flat();
    expect(
      kept({ plan: plan(layers), checkpoint: done("l0-1", "l20-2"), from: { node_id: "l0-0" }, replaced: [] }),
    ).toEqual(["l0-1"]);
  });
});
