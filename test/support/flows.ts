import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";

type Node = FlowDefinition["nodes"][number];

/** A node with an empty configuration unless one is given. */
export function node(id: string, type: string, config: Record<string, unknown> = {}, more: Partial<Node> = {}): Node {
  return { id, type: type as Node["type"], config, ...more };
}

/** Edges written as "in-0 > tpl-0" or "if-0:case:a > out-0"; "a > b > c" stands for two edges. */
export function edges(...paths: string[]): FlowDefinition["edges"] {
  return paths.flatMap((path) => {
    const steps = path.split(">").map((step) => step.trim());
    return steps.slice(1).map((target, index) => {
      const [source = "", ...handle] = (steps[index] ?? "").split(":");
      const to = target.split(":")[0] ?? "";
      return handle.length === 0 ? { source, target: to } : { source, source_handle: handle.join(":"), target: to };
    });
  });
}

/** A flow: in-0 > out-0 unless other nodes and edges are given. */
export function flow(over: Partial<FlowDefinition> = {}): FlowDefinition {
  return {
    schema_version: 1,
    name: "test",
    nodes: [node("in-0", "input"), node("out-0", "output")],
    edges: edges("in-0 > out-0"),
    ...over,
  };
}
