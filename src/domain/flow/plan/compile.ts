import { checkCel } from "../expressions/cel/cel.ts";
import { handleOf, type FlowDefinition, type FlowGraph, type FlowNode } from "../definition/definition.ts";
import { withChains } from "./chains.ts";
import { orderNodes } from "./graph.ts";
import { checkTemplate } from "../expressions/liquid/liquid.ts";
import { RULES } from "../expressions/rules.ts";
import { NODE_SPECS } from "../nodes/index.ts";
import type { NodeConfig, NodeSpec } from "../nodes/spec.ts";
import type { Plan, PlanNode } from "./types.ts";
import type { Reads } from "../scope.ts";

/**
 * Compiles a flow that `checkFlow` accepted: fills in defaults, compiles nested flows, and orders the nodes so that every edge leads
 * forward. The same definition always gives the same plan. Throws an Error for an invalid flow.
 */
export function compileFlow(definition: FlowDefinition): Plan {
  return withChains({ ...compileGraph(definition), settings: definition.settings ?? {} });
}

function compileGraph(graph: FlowGraph): Plan {
  const positions = new Map(graph.nodes.map(({ id }, index) => [id, index]));
  const at = (id: string) => {
    const position = positions.get(id);
    if (position === undefined) throw new Error(`An edge names a node ${id} that does not exist`);
    return position;
  };
  const links = graph.edges.map(({ source, target }) => ({ source: at(source), target: at(target) }));
  const { order, rest } = orderNodes(graph.nodes.length, links);
  if (rest.length > 0) throw new Error("The flow has a cycle");
  const sources = new Map<string, string[]>(graph.nodes.map(({ id }) => [id, []]));
  for (const { source, target } of graph.edges) sources.get(target)?.push(source);
  return {
    nodes: order.flatMap((position) => {
      const node = graph.nodes[position];
      return node ? [compileNode(node, sources.get(node.id) ?? [], shownMembersOf(node, graph))] : [];
    }),
    edges: graph.edges.map((edge) => ({ source: edge.source, source_handle: handleOf(edge), target: edge.target })),
    settings: {},
    rules: RULES,
  };
}

/** For an output without a text: by source, which field of the source's value it returns. */
function shownMembersOf(node: FlowNode, graph: FlowGraph): Readonly<Record<string, string>> | undefined {
  if (node.type !== "output" || node.config?.["value"] !== undefined) return undefined;
  const shown = graph.edges.flatMap(({ source, target }) => {
    const from = target === node.id ? graph.nodes.find(({ id }) => id === source) : undefined;
    const member = from === undefined ? undefined : NODE_SPECS[from.type].outputMember?.(from.config ?? {});
    return member === undefined ? [] : [[source, member] as const];
  });
  return shown.length === 0 ? undefined : Object.fromEntries(shown);
}

function compileNode(
  node: FlowNode,
  sources: readonly string[],
  shown: Readonly<Record<string, string>> | undefined,
): PlanNode {
  const spec = NODE_SPECS[node.type];
  const { flow, ...own } = node.config ?? {};
  const config = spec.config.parse(own);
  // The definition's schema or checkFlow has already parsed the nested flow.
  const nested = spec.nested ? compileGraph(flow as FlowGraph) : undefined;
  const timeout = node.timeout_ms ?? spec.timeout_ms;
  const compiled = {
    id: node.id,
    type: node.type,
    ...(node.name === undefined ? {} : { name: node.name }),
    config,
    execution: spec.execution(config),
    retry: { ...spec.retry, ...node.retry },
    ...(timeout === undefined ? {} : { timeout_ms: timeout }),
    on_error: node.on_error ?? "fail",
    ...(node.default_output === undefined ? {} : { default_output: node.default_output }),
    ...(node.skip_if === undefined ? {} : { skip_if: node.skip_if }),
    reads: readsOf(node, spec, config, sources, nested),
    ...(shown === undefined ? {} : { shown }),
    ...(nested === undefined ? {} : { nested }),
  };
  // The type's own schema has parsed the configuration.
  return compiled as PlanNode;
}

/** The nodes whose values a node's evaluation needs: those in its expressions, and the ones that its nested flow reads from outside. */
function readsOf(
  node: FlowNode,
  spec: NodeSpec,
  config: NodeConfig,
  sources: readonly string[],
  nested: Plan | undefined,
): Reads {
  const reads: Reads[] = spec
    .expressions(config)
    .map(({ language, source }) => readsOfSource(language === "cel" ? checkCel(source) : checkTemplate(source)));
  if (node.skip_if !== undefined) reads.push(readsOfSource(checkCel(node.skip_if)));
  // An output without an expression returns the value of one of its sources.
  if (node.type === "output" && config["value"] === undefined) reads.push(sources);
  const own = new Set(nested?.nodes.map(({ id }) => id));
  for (const inner of nested?.nodes ?? [])
    reads.push(inner.reads === "*" ? "*" : inner.reads.filter((id) => !own.has(id)));
  return reads.includes("*") ? "*" : [...new Set(reads.flat())].toSorted();
}

function readsOfSource(check: { ok: true; reads: Reads } | { ok: false; message: string }): Reads {
  if (check.ok) return check.reads;
  throw new Error(`An expression does not parse: ${check.message}`);
}
