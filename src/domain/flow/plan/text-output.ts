import { handleOf, type FlowGraph, type FlowNode } from "../definition/definition.ts";

/**
 * The template of an output that only a knowledge node or a model leads to: its text, which is what somebody who asks wants to
 * read. Undefined for every other node, and for a model that answers with JSON: see `jsonOutput`.
 */
export function textOutput(node: FlowNode, graph: FlowGraph): string | undefined {
  if (node.type !== "output" || node.config?.["value"] !== undefined) return undefined;
  const [edge, ...more] = graph.edges.filter(({ target }) => target === node.id);
  if (edge === undefined || more.length > 0 || handleOf(edge) !== "out") return undefined;
  const source = graph.nodes.find(({ id }) => id === edge.source);
  const isText = source?.type === "knowledge" || (source?.type === "llm" && source.config?.["schema"] === undefined);
  if (source !== undefined && isText) return `{{ nodes[${JSON.stringify(source.id)}] }}`;
  return undefined;
}
