import { edgeKey, edgesOf, graphAt, handleOf, nodesOf } from "./access.ts";
import type { FlowDocument, FlowEdge, FlowGraph, NodeKind, Scope } from "./document.ts";
import { handlesOf, kindOf } from "./kinds.ts";

/** Why an edge cannot be added; null if it can. The server checks the same when the flow is validated. */
export function whyNotConnect(
  document: FlowDocument,
  scope: Scope,
  edge: FlowEdge,
  kinds: readonly NodeKind[],
): string | null {
  const graph = graphAt(document, scope);
  const [source, target] = [edge.source, edge.target].map((id) => nodesOf(graph).find((node) => node.id === id));
  if (source === undefined || target === undefined) return "An edge needs a source and a target node.";
  if (source === target) return "An edge cannot connect a node to itself.";
  if (kindOf(kinds, target.type)?.target === false) return `"${target.id}" is an input and cannot have incoming edges.`;
  const handle = handleOf(edge);
  if (!handlesOf(kindOf(kinds, source.type), source).includes(handle))
    return `"${source.id}" has no handle "${handle}".`;
  if (edgesOf(graph).some((each) => edgeKey(each) === edgeKey(edge))) return "The nodes are already connected.";
  return earlier(graph, source.id).has(target.id)
    ? "The edge would close a cycle. To repeat something, use a loop."
    : null;
}

/** The nodes that an edge from a handle can lead to. */
export function targetsFor(
  document: FlowDocument,
  scope: Scope,
  source: string,
  handle: string,
  kinds: readonly NodeKind[],
): ReadonlySet<string> {
  const graph = graphAt(document, scope);
  const before = earlier(graph, source);
  const connected = new Set(
    edgesOf(graph).flatMap((edge) => (edge.source === source && handleOf(edge) === handle ? [edge.target] : [])),
  );
  const fits = nodesOf(graph).filter(
    ({ id, type }) => id !== source && !before.has(id) && !connected.has(id) && kindOf(kinds, type)?.target !== false,
  );
  return new Set(fits.map(({ id }) => id));
}

/** The nodes that an edge to a node can come from, each with its handles. */
export function sourcesFor(
  document: FlowDocument,
  scope: Scope,
  target: string,
  kinds: readonly NodeKind[],
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const node of nodesOf(graphAt(document, scope))) {
    const handles = handlesOf(kindOf(kinds, node.type), node).filter(
      (handle) => whyNotConnect(document, scope, { source: node.id, source_handle: handle, target }, kinds) === null,
    );
    if (handles.length > 0) found.set(node.id, handles);
  }
  return found;
}

/** The nodes that come before a node. */
function earlier(graph: FlowGraph | undefined, id: string): ReadonlySet<string> {
  const sources = new Map<string, string[]>();
  for (const { source, target } of edgesOf(graph)) {
    const known = sources.get(target);
    if (known === undefined) sources.set(target, [source]);
    else known.push(source);
  }
  const found = new Set<string>();
  const open = [id];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const source of sources.get(next) ?? []) {
      if (found.has(source)) continue;
      found.add(source);
      open.push(source);
    }
  }
  return found;
}

/** The node types that a flow can have: inputs only at the top level. */
export function kindsIn<Kind extends NodeKind>(scope: Scope, kinds: readonly Kind[]): readonly Kind[] {
  return scope.length === 0 ? kinds : kinds.filter(({ input }) => !input);
}

/** The node types that can follow a node. */
export function kindsAfter<Kind extends NodeKind>(scope: Scope, kinds: readonly Kind[]): readonly Kind[] {
  return kindsIn(scope, kinds).filter(({ target }) => target);
}

/** The node types that can come before a node: they have a handle as soon as they are added. */
export function kindsBefore<Kind extends NodeKind>(scope: Scope, kinds: readonly Kind[]): readonly Kind[] {
  return kindsIn(scope, kinds).filter((kind) => firstHandle(kind) !== undefined);
}

/** The node types that can be inserted on an edge. */
export function kindsBetween<Kind extends NodeKind>(scope: Scope, kinds: readonly Kind[]): readonly Kind[] {
  return kindsAfter(scope, kindsBefore(scope, kinds));
}

/** The handle by which an edge leaves a node of the type that has just been added. */
export const firstHandle = (kind: NodeKind): string | undefined => handlesOf(kind, { config: kind.example })[0];
