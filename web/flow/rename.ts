import { edgesOf, fieldOf, graphAt, isObject, nestedOf, nodeAt, nodesOf, pathOf } from "./access.ts";
import type {
  Command,
  FlowDocument,
  FlowEdge,
  FlowGraph,
  FlowNode,
  FlowUi,
  Json,
  NodeKind,
  Note,
  Scope,
} from "./document.ts";
import { kindOf, mapExpressions } from "./kinds.ts";
import { renameInCel, renameInLiquid, type Renames } from "./references.ts";
import { setOwn, updateGraph, updateUi, withField } from "./update.ts";

/** What the flow format accepts as an ID. */
const NODE_ID = /^(?!(?:__proto__|constructor|prototype)$)[A-Za-z0-9_-]{1,64}$/;
export const isNodeId = (id: string): boolean => NODE_ID.test(id);

/** Why a node cannot have an ID; null if it can. An ID that would make an expression mean another node is refused. */
export function whyNotRename(
  document: FlowDocument,
  scope: Scope,
  id: string,
  to: string,
  kinds: readonly NodeKind[] = [],
): string | null {
  if (!isNodeId(to)) return "An ID is 1 to 64 characters of A-Z, a-z, 0-9, _ and -, and not a reserved name.";
  const graph = graphAt(document, scope);
  if (graph === undefined || !nodesOf(graph).some((node) => node.id === id)) return `Node "${id}" not found.`;
  if (to === id) return null;
  const isAround = scope.some((_, depth) => hasNode(graphAt(document, scope.slice(0, depth)), to));
  const isTaken =
    hasNode(graph, to) ||
    (isAround && reads(graph, to, kinds)) ||
    nodesOf(graph).some((node) => captures(node, id, to, kinds));
  return isTaken ? `Another node already has the ID "${to}".` : null;
}

const hasNode = (graph: FlowGraph | undefined, id: string): boolean => nodesOf(graph).some((node) => node.id === id);

const reads = (graph: FlowGraph, id: string, kinds: readonly NodeKind[]): boolean =>
  renameReads(graph, { nodes: new Map([[id, `${id}-`]]), inputs: new Map() }, kinds) !== graph;

/** Whether a flow inside the node has a node `to` of its own, and would read that one in place of `id`. */
function captures(node: FlowNode, id: string, to: string, kinds: readonly NodeKind[]): boolean {
  const nested = nestedOf(node);
  if (nested === undefined || hasNode(nested, id)) return false;
  if (hasNode(nested, to)) return reads(nested, id, kinds);
  return nodesOf(nested).some((inner) => captures(inner, id, to, kinds));
}

/** Changes the ID of a node, and everything in the document that names the node. */
export function renameNode(
  document: FlowDocument,
  { scope, id, to }: Extract<Command, { readonly type: "renameNode" }>,
  kinds: readonly NodeKind[],
): FlowDocument {
  const node = nodeAt(document, scope, id);
  if (node === undefined || id === to || whyNotRename(document, scope, id, to, kinds) !== null) return document;
  return renameNodes(document, scope, new Map([[id, to]]), kinds);
}

/** Changes several IDs of one flow at once. The caller has asked `whyNotRename` for each of them. */
export function renameNodes(
  document: FlowDocument,
  scope: Scope,
  ids: ReadonlyMap<string, string>,
  kinds: readonly NodeKind[],
): FlowDocument {
  const named = nodesOf(graphAt(document, scope)).filter(({ id }) => ids.has(id));
  const renames = renamesOf(ids, named, scope, kinds);
  let changed = updateGraph(document, scope, (graph) => withIds(renameReads(graph, renames, kinds), ids));
  for (const [id, to] of ids) {
    changed = updateUi(changed, (ui) => renameInUi(ui, pathOf(scope, id), pathOf(scope, to)));
    if (scope.length === 0) changed = renameAtTop(changed, id, to);
  }
  return changed;
}

export function renamesOf(
  ids: ReadonlyMap<string, string>,
  nodes: readonly FlowNode[],
  scope: Scope,
  kinds: readonly NodeKind[],
): Renames {
  const isInput = (id: string): boolean =>
    nodes.some((node) => node.id === id && kindOf(kinds, node.type)?.input === true);
  const inputs = scope.length > 0 ? [] : [...ids].filter(([id]) => isInput(id));
  return { nodes: ids, inputs: new Map(inputs) };
}

/** Changes IDs in the expressions of a graph and of the flows inside it, except where a flow inside has a node of the same ID. */
export function renameReads<Graph extends Pick<FlowGraph, "nodes">>(
  graph: Graph,
  renames: Renames,
  kinds: readonly NodeKind[],
): Graph {
  // A draft may have anything in place of the nodes of a nested flow.
  if (renames.nodes.size === 0 || !Array.isArray(graph.nodes)) return graph;
  const change = (node: FlowNode): FlowNode => {
    const read = mapExpressions(node, kindOf(kinds, node.type), (text, language) => {
      if (language === "javascript") return text;
      return language === "cel" ? renameInCel(text, renames) : renameInLiquid(text, renames);
    });
    const nested = nestedOf(read);
    if (nested === undefined) return read;
    const own = new Set(nodesOf(nested).map(({ id }) => id));
    const nodes = new Map([...renames.nodes].filter(([id]) => !own.has(id)));
    const inside = renameReads(nested, { nodes, inputs: renames.inputs }, kinds);
    return inside === nested ? read : { ...read, config: { ...read.config, flow: inside } };
  };
  const known = new Set(nodesOf(graph));
  const nodes = graph.nodes.map((node: FlowNode) => (known.has(node) ? change(node) : node));
  return nodes.every((node, at) => node === graph.nodes[at]) ? graph : { ...graph, nodes };
}

/** The graph with other IDs of its nodes, also in its edges. */
function withIds(graph: FlowGraph, ids: ReadonlyMap<string, string>): FlowGraph {
  const nodes = graph.nodes.map((node) => {
    const to = isObject(node) ? ids.get(node.id) : undefined;
    return to === undefined ? node : { ...node, id: to };
  });
  const edges =
    edgesOf(graph).length === 0
      ? graph.edges
      : graph.edges.map((edge) => (isObject(edge) ? edgeWithIds(edge, ids) : edge));
  return { ...graph, nodes, edges };
}

export function edgeWithIds(edge: FlowEdge, ids: ReadonlyMap<string, string>): FlowEdge {
  const [source, target] = [ids.get(edge.source) ?? edge.source, ids.get(edge.target) ?? edge.target];
  return source === edge.source && target === edge.target ? edge : { ...edge, source, target };
}

function renameInUi(ui: FlowUi, from: string, to: string): FlowUi {
  const inside = `${from}/`;
  const renamed = (path: string): string =>
    path === from || path.startsWith(inside) ? to + path.slice(from.length) : path;
  let changed = ui;
  if (isObject(ui.positions)) changed = withField(changed, "positions", withKeys(ui.positions, renamed));
  if (Array.isArray(ui.locked)) {
    const locked = (ui.locked as readonly unknown[]).map((path) => (typeof path === "string" ? renamed(path) : path));
    changed = withField(changed, "locked", sameOr(ui.locked, locked as readonly Json[]));
  }
  if (Array.isArray(ui.notes)) {
    const notes = (ui.notes as readonly Note[]).map((note) => {
      const scope = fieldOf(note, "scope");
      return typeof scope !== "string" || renamed(scope) === scope ? note : { ...note, scope: renamed(scope) };
    });
    changed = withField(changed, "notes", sameOr(ui.notes, notes));
  }
  return changed;
}

const sameOr = (before: readonly Json[], after: readonly Json[]): readonly Json[] =>
  after.every((each, at) => each === before[at]) ? before : after;

function withKeys<Value extends Json | undefined>(
  object: Readonly<Record<string, Value>>,
  renamed: (key: string) => string,
): Readonly<Record<string, Value>> {
  const keys = Object.keys(object);
  if (keys.every((key) => renamed(key) === key)) return object;
  const changed: Record<string, Value> = {};
  for (const key of keys) setOwn(changed, renamed(key), object[key] as Value);
  return changed;
}

const REDACTED = /^(\$\.(?:nodes|inputs|outputs))(?:\.([A-Za-z0-9_-]+)|\[(["'])([A-Za-z0-9_-]+)\3\])/;

/** The names of a top-level node in what is redacted, and in the examples. */
function renameAtTop(document: FlowDocument, id: string, to: string): FlowDocument {
  let changed = document;
  const redact = fieldOf(document.settings, "redact");
  if (Array.isArray(redact)) {
    const paths = (redact as readonly Json[]).map((path) =>
      typeof path !== "string"
        ? path
        : path.replace(REDACTED, (found, root: string, name: string | undefined, quote: string, quoted: string) => {
            if ((name ?? quoted) !== id) return found;
            return name === undefined ? `${root}[${quote}${to}${quote}]` : `${root}.${to}`;
          }),
    );
    changed = withField(
      changed,
      "settings",
      withField(document.settings ?? {}, "redact", sameOr(redact as readonly Json[], paths)),
    );
  }
  if (!Array.isArray(document.examples)) return changed;
  const examples = (document.examples as readonly Json[]).map((example) => {
    const inputs = fieldOf(example, "inputs");
    if (!isObject(example) || !isObject(inputs) || !Object.hasOwn(inputs, id)) return example;
    return { ...example, inputs: withKeys(inputs, (key) => (key === id ? to : key)) };
  });
  return withField(changed, "examples", sameOr(document.examples, examples));
}
