import { describe, expect, it } from "vitest";
import type { FlowDefinition } from "../../../src/domain/flow/definition/definition.ts";
import { flowReferences } from "../../../src/domain/flow/references.ts";

const BASE = "019B0000-0000-7000-8000-00000000000A";

describe("the references of a flow", () => {
  it("include nested flows, with the location of each ID", () => {
    const inner = {
      nodes: [
        { id: "kb-0", type: "knowledge", config: { knowledge_base_id: BASE, query: "x" } },
        { id: "out-1", type: "output" },
      ],
      edges: [{ source: "kb-0", target: "out-1" }],
    };
    const flow = {
      schema_version: 1,
      name: "test",
      nodes: [
        { id: "sub-0", type: "subflow", config: { project_id: "Called", version: 3 } },
        { id: "map-0", type: "map", config: { items: "[1]", flow: inner } },
        { id: "out-0", type: "output" },
      ],
      edges: [{ source: "map-0", target: "out-0" }],
    } as FlowDefinition;
    expect(flowReferences(flow)).toEqual([
      {
        kind: "project",
        id: "called",
        version: 3,
        node_id: "sub-0",
        node_path: "sub-0",
        path: ["nodes", 0, "config", "project_id"],
      },
      {
        kind: "knowledge_base",
        id: BASE.toLowerCase(),
        node_id: "kb-0",
        node_path: "map-0/kb-0",
        path: ["nodes", 1, "config", "flow", "nodes", 0, "config", "knowledge_base_id"],
      },
    ]);
  });
});
