import type { Bindings } from "../../projects/environments.ts";
import { NODE_SPECS } from "../nodes/index.ts";
import type { NodeSpec } from "../nodes/spec.ts";
import type { Path } from "../validate/problems.ts";
import type { Plan, PlanNode } from "./types.ts";

/** A plan whose nodes and tools use the connections of an environment. */
export function bindConnections(plan: Plan, bindings: Bindings): Plan {
  if (Object.keys(bindings).length === 0) return plan;
  return { ...plan, nodes: plan.nodes.map((node) => bindNode(node, bindings)) };
}

function bindNode(node: PlanNode, bindings: Bindings): PlanNode {
  const spec = NODE_SPECS[node.type] as NodeSpec<unknown>;
  let config: unknown = node.config;
  for (const { kind, id, path } of spec.references?.(node.config) ?? []) {
    const bound = kind === "connection" && Object.hasOwn(bindings, id) ? bindings[id] : undefined;
    if (bound !== undefined) config = withValue(config, path, bound);
  }
  const nested = node.nested && bindConnections(node.nested, bindings);
  return { ...node, config, ...(nested && { nested }) } as PlanNode;
}

/** A copy of `value` with another text at `path`. */
function withValue(value: unknown, [key, ...rest]: Path, text: string): unknown {
  if (key === undefined) return text;
  if (Array.isArray(value)) return value.map((each, at) => (at === key ? withValue(each, rest, text) : each));
  const before = value as Readonly<Record<string, unknown>>;
  return { ...before, [key]: withValue(before[key], rest, text) };
}
