import type { FlowEdge } from "../definition/definition.ts";
import { BRACES_AS_TEXT } from "../expressions/liquid/liquid.ts";
import { findCycles, leadingTo, orderNodes, upstreamOf, type Link } from "../plan/graph.ts";
import { createGraphValues, reportFields, valuesOfRun, type GraphValues, type OuterValues } from "./flow-scope.ts";
import { isGraph } from "./output-schemas.ts";
import { shorten, type Path, type ProblemList } from "./problems.ts";
import { checkEdge, reportDuplicates, reportErrorBranches } from "./validate-edges.ts";
import { checkNode, type CheckedNode, type Validation } from "./validate-node.ts";

/** The enclosing flow, as a nested flow sees it. */
export interface OuterScope {
  exists(id: string): boolean;
  /** Whether the node has settled when the nested flow runs, so that the nested flow can read it. */
  sees(id: string): boolean;
  readonly values?: OuterValues;
}

/** For the outermost flow. */
export const NO_OUTER_SCOPE: OuterScope = { exists: () => false, sees: () => false };

interface Wiring {
  readonly nodes: readonly CheckedNode[];
  readonly positions: ReadonlyMap<string, number>;
  readonly edges: readonly FlowEdge[];
  readonly links: readonly Link[];
}

/** Checks the nodes and edges of a flow, then of the flows inside its nodes. `outer` is NO_OUTER_SCOPE at the top level. */
export function checkGraph(
  graph: { readonly nodes: readonly unknown[]; readonly edges: readonly unknown[] },
  path: Path,
  outer: OuterScope,
  validation: Validation,
): void {
  const { problems } = validation;
  const nodes = graph.nodes.map((raw, index) => checkNode(raw, [...path, "nodes", index], validation));
  const positions = positionsOf(nodes, problems);
  if (outer !== NO_OUTER_SCOPE) reportInputsInside(nodes, problems);
  const edges = graph.edges.flatMap(
    (raw, index) => checkEdge(raw, [...path, "edges", index], nodes, positions, problems) ?? [],
  );
  reportDuplicates(edges, problems);
  const links = edges.map(({ edge }) => ({
    source: positions.get(edge.source) ?? 0,
    target: positions.get(edge.target) ?? 0,
  }));
  const wiring: Wiring = { nodes, positions, edges: edges.map(({ edge }) => edge), links };
  reportOutputs(wiring, path, problems);
  reportErrorBranches(nodes, wiring.edges, problems);
  const before = checkReads(wiring, path, outer, problems);
  const outside = outer.values ?? valuesOfRun(nodes, validation.limits);
  const values = createGraphValues(nodes, positions, before, outside, validation.outputs ?? {});
  reportFields(nodes, values, problems);
  listScope(validation.scope, nodes, graph.edges, path, values);
  if (outer === NO_OUTER_SCOPE) reportUnused(wiring, problems);

  for (const [index, node] of nodes.entries()) {
    if (node.nested === undefined) continue;
    reportMembers(node, problems);
    if (!isGraph(node.nested)) continue;
    const inside: OuterScope = {
      exists: (id) => positions.has(id) || outer.exists(id),
      sees: (id) => {
        const position = positions.get(id);
        return position === undefined ? outer.sees(id) : before(index, position);
      },
      values: values.inside(index),
    };
    checkGraph(node.nested, [...node.path, "config", "flow"], inside, validation);
  }
}

function listScope(
  scope: Validation["scope"],
  nodes: readonly CheckedNode[],
  edges: readonly unknown[],
  path: Path,
  values: GraphValues,
): void {
  if (!scope) return;
  for (const [position, node] of nodes.entries()) {
    if (node.id === undefined) continue;
    scope.add({ node_path: `${values.prefix}${node.id}`, path: node.path }, values.all(position));
  }
  scope.addEdges(edges.map((_, index) => [...path, "edges", index]));
}

function positionsOf(nodes: readonly CheckedNode[], problems: ProblemList): Map<string, number> {
  const positions = new Map<string, number>();
  for (const [index, { id, path }] of nodes.entries()) {
    if (id === undefined) continue;
    const message = `Another node already has the id "${id}"`;
    if (positions.has(id)) problems.add({ code: "duplicate_id", path: [...path, "id"], node_id: id, message });
    else positions.set(id, index);
  }
  return positions;
}

/** A nested flow cannot have inputs, because a run's body names only top-level nodes. */
function reportInputsInside(nodes: readonly CheckedNode[], problems: ProblemList): void {
  for (const { spec, id, path } of nodes) {
    if (!spec?.input) continue;
    const message = "Input nodes are allowed only at the top level, not inside a map or loop";
    const hint = "Inside, expressions read item, index, last, and the nodes before the map or loop";
    problems.add({ code: "kind_not_allowed", path: [...path, "type"], node_id: id ?? null, message, hint });
  }
}

function reportOutputs({ nodes, edges }: Wiring, path: Path, problems: ProblemList): void {
  const targets = new Set(edges.map((edge) => edge.target));
  // A node of unknown type may be meant as the output; its own problem is enough.
  if (!nodes.some(({ kind }) => kind === "output" || kind === undefined)) {
    const hint = 'Add { "id": "out-0", "type": "output", "config": {} } and an edge to it';
    problems.add({ code: "no_output", path: [...path, "nodes"], message: "The flow has no output node", hint });
  }
  for (const { id, kind, node, path: place } of nodes) {
    if (kind !== "output" || id === undefined || targets.has(id) || node?.config?.["value"] !== undefined) continue;
    const message = "This output has no incoming edge and no value";
    problems.add({ code: "output_without_source", path: place, node_id: id, message });
  }
}

/** Reports cycles, and reads of values that are not available in time. Returns which node comes before which. */
function checkReads(
  { nodes, positions, links }: Wiring,
  path: Path,
  outer: OuterScope,
  problems: ProblemList,
): (node: number, earlier: number) => boolean {
  const ordering = orderNodes(nodes.length, links);
  for (const cycle of findCycles(ordering.rest, links)) {
    const names = cycle.map((position) => nodes[position]?.id ?? "?");
    const shown = names.length > 20 ? [...names.slice(0, 10), "…", ...names.slice(-9)] : names;
    const message = `Cycle between these nodes: ${[...shown, names[0] ?? ""].join(" → ")}`;
    const hint = "Remove one of the edges; to repeat something, use a loop";
    problems.add({ code: "cycle", path: [...path, "edges"], node_id: names[0] ?? null, message, hint });
  }
  const before = upstreamOf(nodes.length, ordering, links);
  const unordered = new Set(ordering.rest);
  for (const [index, node] of nodes.entries()) {
    for (const { path: place, reads, language } of node.expressions) {
      for (const id of reads === "*" ? [] : reads) {
        const position = positions.get(id);
        const finding = { path: place, node_id: node.id ?? null };
        if (position === undefined && !outer.exists(id)) {
          const hint = didYouMean(id, positions) ?? (language === "liquid" ? BRACES_AS_TEXT : undefined);
          problems.add({ ...finding, code: "reads_unknown_node", message: `Node "${shorten(id)}" not found`, hint });
        } else if (position === undefined ? !outer.sees(id) : !before(index, position) && !unordered.has(index)) {
          const message = `"${id}" may not have finished when this is evaluated`;
          const hint = position === index ? "A node cannot read itself" : `Add an edge path from "${id}" to this node`;
          problems.add({ ...finding, code: "reads_later_node", message, hint });
        }
      }
    }
  }
  // The order of nodes after a cycle is undefined, so they count as after all others, and no problem is reported inside them.
  return (node, earlier) => unordered.has(node) || before(node, earlier);
}

function reportUnused({ nodes, links }: Wiring, problems: ProblemList): void {
  const inputsRead = nodes.some((node) => node.readsInputs);
  const goals = [...nodes.keys()].filter((index) => {
    const spec = nodes[index]?.spec;
    return !spec || spec.effect || (spec.input && inputsRead);
  });
  const used = leadingTo(nodes.length, goals, links);
  for (const [index, { id, path }] of nodes.entries()) {
    if (used.has(index) || id === undefined) continue;
    const message = "This node has no effect: no output or action depends on it";
    problems.add({ code: "unused_node", severity: "warning", path, node_id: id, message });
  }
}

function didYouMean(id: string, positions: ReadonlyMap<string, number>): string | undefined {
  const plain = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, "");
  const close = [...positions.keys()].find((known) => plain(known) === plain(id));
  return close === undefined ? undefined : `Did you mean "${close}"?`;
}

/** Reports fields of a nested flow that it cannot have, or that it is no flow. */
function reportMembers({ nested, path, id }: CheckedNode, problems: ProblemList): void {
  const place = { path: [...path, "config", "flow"], node_id: id ?? null };
  if (!isGraph(nested)) {
    problems.add({ ...place, code: "wrong_type", message: "A nested flow must be { nodes: [...], edges: [...] }" });
    return;
  }
  for (const key of Object.keys(nested)) {
    if (key === "nodes" || key === "edges" || key === "__proto__") continue;
    const message = `Unknown field "${shorten(key)}"`;
    problems.add({ ...place, code: "unknown_member", path: [...place.path, key], message });
  }
}
