import { handleOf, type FlowGraph, type FlowNode } from "../definition/definition.ts";

/**
 * The template of an output that only a knowledge node leads to: its text, which is what somebody who asks wants to read.
 * Undefined for every other node.
 */
export function textOutput(node: FlowNode, graph: FlowGraph): string | undefined {
  if (node.type !== "output" || node.config?.["value"] !== undefined) return undefined;
  const [edge, ...more] = graph.edges.filter(({ target }) => target === node.id);
  if (edge === undefined || more.length > 0 || handleOf(edge) !== "out") return undefined;
  const source = graph.nodes.find(({ id }) => id === edge.source);
  return source?.type === "knowledge" ? `{{ nodes[${JSON.stringify(source.id)}] }}` : undefined;
}
