import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileFlow } from "../../../../src/domain/flow/plan/compile.ts";
import type { FlowDefinition } from "../../../../src/domain/flow/definition/definition.ts";
import { DEFAULT_FLOW_LIMITS } from "../../../../src/domain/flow/definition/limits.ts";
import type { Plan } from "../../../../src/domain/flow/plan/types.ts";
import { checkFlow } from "../../../../src/domain/flow/validate/validate.ts";
import { brokenFlows, validFlows } from "../../../support/arbitrary-flow.ts";

const runs = { numRuns: 300 };

describe("any flow", () => {
  it("that is sound passes validation", () => {
    fc.assert(
      fc.property(validFlows, (flow) => {
        expect(checkFlow(flow, DEFAULT_FLOW_LIMITS).problems.filter(({ severity }) => severity === "error")).toEqual(
          [],
        );
      }),
      runs,
    );
  });

  it("that is broken gets problems, never an exception", () => {
    fc.assert(
      fc.property(brokenFlows, (flow) => {
        const checked = checkFlow(flow, DEFAULT_FLOW_LIMITS);
        expect(checked.valid).toBe(!checked.problems.some(({ severity }) => severity === "error"));
      }),
      { numRuns: 1000 },
    );
  });

  it("may be any JSON value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(checkFlow(value, DEFAULT_FLOW_LIMITS).valid).toBe(false);
      }),
      runs,
    );
  });
});

describe("any plan", () => {
  /** Expects that the plan has every node and edge, that edges lead forward, and that nodes read only earlier or surrounding nodes. */
  function expectSound(plan: Plan, graph: Pick<FlowDefinition, "nodes" | "edges">, around: readonly string[]): void {
    const ids = plan.nodes.map(({ id }) => id);
    expect(ids.toSorted()).toEqual(graph.nodes.map(({ id }) => id).toSorted());
    expect(plan.edges).toHaveLength(graph.edges.length);
    for (const edge of plan.edges) expect(ids.indexOf(edge.source)).toBeLessThan(ids.indexOf(edge.target));
    for (const [position, node] of plan.nodes.entries()) {
      const visible = [...around, ...ids.slice(0, position)];
      expect(node.reads === "*" ? [] : node.reads.filter((id) => !visible.includes(id))).toEqual([]);
      const flow = graph.nodes.find(({ id }) => id === node.id)?.config?.["flow"] as FlowDefinition | undefined;
      expect(node.nested === undefined).toBe(flow === undefined);
      expect(node.config).not.toHaveProperty("flow");
      if (node.nested && flow) expectSound(node.nested, flow, visible);
    }
  }

  it("has no cycle and contains every node and edge", () => {
    fc.assert(
      fc.property(validFlows, (flow) => {
        expectSound(compileFlow(flow), flow, []);
      }),
      runs,
    );
  });

  it("is plain JSON and the same each time", () => {
    fc.assert(
      fc.property(validFlows, (flow) => {
        const plan = compileFlow(flow);
        expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
        expect(JSON.stringify(compileFlow(structuredClone(flow)))).toBe(JSON.stringify(plan));
      }),
      runs,
    );
  });
});
