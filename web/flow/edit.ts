import { allNotes, edgeKey, edgesOf, fieldOf, handleOf, isObject, lockedIn, nodesOf, pathOf } from "./access.ts";
import type { Command, FlowDocument, FlowEdge, FlowGraph, NodeKind, Note, Point, Scope } from "./document.ts";
import { followHandles } from "./search.ts";
import { keepFields, keepItems, setAt, updateGraph, updateNode, updateUi, withField, withFields } from "./update.ts";

type Of<Type extends Command["type"]> = Extract<Command, { readonly type: Type }>;

export function addNode(document: FlowDocument, { scope, node, position, edges = [] }: Of<"addNode">): FlowDocument {
  const added = updateGraph(document, scope, (graph) => {
    if (nodesOf(graph).some(({ id }) => id === node.id)) return graph;
    return withEdges({ ...graph, nodes: [...listOf(graph.nodes), node] }, edges);
  });
  return added === document || position === undefined ? added : withPositions(added, scope, { [node.id]: position });
}

export function insertOnEdge(document: FlowDocument, command: Of<"insertOnEdge">): FlowDocument {
  const { scope, edge, node, handle, position } = command;
  const key = edgeKey(edge);
  const inserted = updateGraph(document, scope, (graph) => {
    const at = listOf(graph.edges).findIndex((each) => isObject(each) && edgeKey(each) === key);
    const old = listOf(graph.edges)[at];
    if (old === undefined || nodesOf(graph).some(({ id }) => id === node.id)) return graph;
    const second: FlowEdge = {
      source: node.id,
      ...(handle === undefined ? {} : { source_handle: handle }),
      target: old.target,
    };
    const edges = graph.edges.toSpliced(at, 1, { ...old, target: node.id }, second);
    return { ...graph, nodes: [...listOf(graph.nodes), node], edges };
  });
  return inserted === document || position === undefined
    ? inserted
    : withPositions(inserted, scope, { [node.id]: position });
}

export function connect(document: FlowDocument, { scope, edge }: Of<"connect">): FlowDocument {
  return updateGraph(document, scope, (graph) => withEdges(graph, [edge]));
}

export function disconnect(document: FlowDocument, { scope, edges }: Of<"disconnect">): FlowDocument {
  const keys = new Set(edges.map(edgeKey));
  return updateGraph(document, scope, (graph) => {
    const kept = listOf(graph.edges).filter((edge) => !isObject(edge) || !keys.has(edgeKey(edge)));
    return kept.length === listOf(graph.edges).length ? graph : { ...graph, edges: kept };
  });
}

export function removeNodes(document: FlowDocument, command: Of<"removeNodes">): FlowDocument {
  const { scope, reconnect = false, notes = [] } = command;
  const locked = lockedIn(document, scope);
  const ids = new Set(command.ids.filter((id) => !locked.has(id)));
  const removed = updateGraph(document, scope, (graph) => {
    if (!nodesOf(graph).some(({ id }) => ids.has(id))) return graph;
    const bridges = reconnect ? bridgesOver(edgesOf(graph), ids) : [];
    const nodes = graph.nodes.filter((node) => !isObject(node) || !ids.has(node.id));
    const edges = listOf(graph.edges).filter(
      (edge) => !isObject(edge) || (!ids.has(edge.source) && !ids.has(edge.target)),
    );
    return withEdges({ ...graph, nodes, edges }, bridges);
  });
  const gone = removed === document ? [] : [...ids].map((id) => pathOf(scope, id));
  return forget(removed, gone, new Set(notes));
}

/** Edges that lead past removed nodes. What follows a failure is not made to follow the success of another node. */
function bridgesOver(edges: readonly FlowEdge[], ids: ReadonlySet<string>): FlowEdge[] {
  const targetsOf = (id: string, seen: Set<string>): string[] => {
    if (seen.has(id)) return [];
    seen.add(id);
    return edges
      .filter((edge) => edge.source === id && handleOf(edge) !== "error")
      .flatMap(({ target }) => (ids.has(target) ? targetsOf(target, seen) : [target]));
  };
  return edges
    .filter(({ source, target }) => !ids.has(source) && ids.has(target))
    .flatMap((edge) => targetsOf(edge.target, new Set()).map((target) => ({ ...edge, target })));
}

/** Removes what `ui` keeps of nodes that are gone and of the flows inside them. */
function forget(document: FlowDocument, paths: readonly string[], notes: ReadonlySet<string>): FlowDocument {
  if (paths.length === 0 && notes.size === 0) return document;
  const isGone = (path: string): boolean => paths.some((each) => path === each || path.startsWith(`${each}/`));
  return updateUi(document, (ui) => {
    const { positions, locked } = ui;
    let changed = ui;
    if (isObject(positions))
      changed = withField(
        changed,
        "positions",
        keepFields(positions, (path) => !isGone(path)),
      );
    if (Array.isArray(locked))
      changed = withField(
        changed,
        "locked",
        keepItems(locked as readonly string[], (path) => !isGone(path)),
      );
    if (Array.isArray(ui.notes)) {
      const isKept = (note: Note): boolean => !isObject(note) || !(notes.has(note.id) || isGone(note.scope ?? ""));
      changed = withField(changed, "notes", keepItems(ui.notes as readonly Note[], isKept));
    }
    return changed;
  });
}

export function moveNodes(document: FlowDocument, { scope, positions, notes = {} }: Of<"moveNodes">): FlowDocument {
  const locked = lockedIn(document, scope);
  const free = Object.fromEntries(Object.entries(positions).filter(([id]) => !locked.has(id)));
  const moved = allNotes(document).flatMap((note) => {
    const to = Object.hasOwn(notes, note.id) ? notes[note.id] : undefined;
    return to === undefined || (to.x === note.x && to.y === note.y) ? [] : [{ ...note, x: to.x, y: to.y }];
  });
  return setNotes(withPositions(document, scope, free), { type: "setNotes", notes: moved });
}

function withPositions(document: FlowDocument, scope: Scope, points: Readonly<Record<string, Point>>): FlowDocument {
  return updateUi(document, (ui) => {
    const before = isObject(ui.positions) ? ui.positions : {};
    const changed = Object.entries(points).flatMap(([id, { x, y }]) => {
      const path = pathOf(scope, id);
      const old = fieldOf(before, path);
      return fieldOf(old, "x") === x && fieldOf(old, "y") === y ? [] : [[path, { x, y }] as const];
    });
    return changed.length === 0 ? ui : { ...ui, positions: { ...before, ...Object.fromEntries(changed) } };
  });
}

export function setNotes(document: FlowDocument, { notes }: Of<"setNotes">): FlowDocument {
  if (notes.length === 0) return document;
  return updateUi(document, (ui) => {
    const before: readonly Note[] = Array.isArray(ui.notes) ? ui.notes : [];
    const byId = new Map(notes.map((note) => [note.id, note]));
    const known = new Set(before.map((note) => fieldOf(note, "id")));
    const kept = before.map((note) => (isObject(note) ? (byId.get(note.id) ?? note) : note));
    return { ...ui, notes: [...kept, ...notes.filter(({ id }) => !known.has(id))] };
  });
}

export function removeNotes(document: FlowDocument, { ids }: Of<"removeNotes">): FlowDocument {
  return forget(document, [], new Set(ids));
}

export function setLocked(document: FlowDocument, { scope, ids, locked }: Of<"setLocked">): FlowDocument {
  const paths = ids.map((id) => pathOf(scope, id));
  return updateUi(document, (ui) => {
    const before = Array.isArray(ui.locked) ? (ui.locked as readonly string[]) : [];
    if (!locked)
      return withField(
        ui,
        "locked",
        keepItems(before, (path) => !paths.includes(path)),
      );
    const added = paths.filter((path) => !before.includes(path));
    return added.length === 0 ? ui : { ...ui, locked: [...before, ...added] };
  });
}

export function setNode(document: FlowDocument, { scope, id, fields }: Of<"setNode">): FlowDocument {
  // Another ID is the work of renameNode, which also changes what names the node.
  const { id: _, ...others } = fields;
  return updateGraph(document, scope, (graph) => updateNode(graph, id, (node) => withFields(node, others)));
}

export function setConfig(document: FlowDocument, command: Of<"setConfig">, kinds: readonly NodeKind[]): FlowDocument {
  const { scope, id, path, value } = command;
  return updateGraph(document, scope, (graph) => {
    const changed = updateNode(graph, id, (node) => withField(node, "config", setAt(node.config, path, value)));
    const [before, after] = [graph, changed].map((each) => nodesOf(each).find((node) => node.id === id));
    return before === undefined || after === undefined || changed === graph
      ? graph
      : followHandles(changed, before, after, kinds);
  });
}

/** The graph with edges that it does not have yet. */
function withEdges(graph: FlowGraph, edges: readonly FlowEdge[]): FlowGraph {
  const keys = new Set(edgesOf(graph).map(edgeKey));
  const added = edges.filter((edge) => {
    const key = edgeKey(edge);
    if (keys.has(key) || edge.source === edge.target) return false;
    keys.add(key);
    return true;
  });
  return added.length === 0 ? graph : { ...graph, edges: [...listOf(graph.edges), ...added] };
}

/** A draft may have anything in place of a list. */
const listOf = <Item>(list: readonly Item[]): readonly Item[] => (Array.isArray(list) ? list : []);
