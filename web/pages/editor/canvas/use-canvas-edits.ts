import { useReactFlow, type NodeSelectionChange } from "@xyflow/react";
import { useMemo } from "react";
import type { NodeKind } from "../../../api/flows.ts";
import {
  edgeKey,
  edgesOf,
  handleOf,
  graphAt,
  lockedIn,
  nodeAt,
  nodesOf,
  notesIn,
  pathOf,
  positionsIn,
} from "../../../flow/access.ts";
import type { Command, FlowDocument, FlowEdge, FlowNode, Point, Scope } from "../../../flow/document.ts";
import { apply } from "../../../flow/history.ts";
import { handlesOf } from "../../../flow/kinds.ts";
import { announce } from "../../../parts/announce.tsx";
import { useEditor } from "../editor-context.ts";
import { useLatest } from "../latest.ts";
import { createEdgeEdits, makeEdge } from "./edit-edges.ts";
import { createNoteEdits } from "./edit-notes.ts";
import { HEAD_HEIGHT, NODE_WIDTH, sizeOf, snap } from "./geometry.ts";
import { noteIdOf, splitEdgeId, splitPath, type ViewEdge, type ViewNode } from "./graph-view.ts";
import { newNode } from "./new-node.ts";
import type { Opening } from "./palette.tsx";
import { NEXT } from "./places.ts";
import { createSpace, type Flow, type Given, type Now } from "./space.ts";

export type Edits = ReturnType<typeof createEdits>;

/** What people do on the canvas, as commands. The functions stay the same, so that nothing is drawn again for them. */
export function useCanvasEdits(given: Given): Edits {
  const editor = useEditor();
  const flow = useReactFlow<ViewNode, ViewEdge>();
  const now = useLatest<Now>({ ...editor, ...given });
  return useMemo(() => createEdits(now, flow), [now, flow]);
}

function createEdits(now: () => Now, flow: Flow) {
  const space = createSpace(now, flow);
  const { run, measured, offsetOf, titleAt } = space;
  const edges = createEdgeEdits(now, space);
  const notes = createNoteEdits(now, space, flow);

  /** The first handle of a node that no edge leaves by, or else its first. */
  const firstHandle = (path: string): string => {
    const { scope, id } = splitPath(path);
    const { document } = now().state;
    const node = nodeAt(document, scope, id);
    const handles = node === undefined ? [] : handlesOf(now().kindOf(node.type), node);
    const taken = edgesOf(graphAt(document, scope)).flatMap((edge) => (edge.source === id ? [handleOf(edge)] : []));
    return handles.find((handle) => !taken.includes(handle)) ?? handles[0] ?? "out";
  };
  /** What the palette opens for: a node after the selected one, if one node is selected. */
  const afterSelected = (): Opening => {
    const { scope, selection } = now().state;
    const [id, ...more] = selection.nodes;
    if (id === undefined || more.length > 0) return {};
    const path = pathOf(scope, id);
    return { from: { path, handle: firstHandle(path) } };
  };
  /** Adds a node for what the palette was opened for; returns its path. */
  const add = (kind: NodeKind, { from, at, edge }: Opening, middle: Point): string => {
    const { state, view } = now();
    const node = newNode(state.document, kind);
    const handle = handlesOf(kind, node)[0] ?? "out";
    const on = edge === undefined ? null : edges.storedEdge(edge);
    const active = state.scope.length >= view.length ? state.scope : view;
    const scope = on?.scope ?? (from ? splitPath(from.path).scope : at ? space.scopeAt(at) : active);
    const offset = offsetOf(scope);
    const { x, y } = { x: (at ?? middle).x - offset.x, y: (at ?? middle).y - offset.y - HEAD_HEIGHT / 2 };
    if (pathOf(scope) !== pathOf(state.scope)) now().dispatch({ type: "open", scope });
    if (on) {
      run(scope, insertion(scope, on.edge, node, handle, { x: x - NODE_WIDTH / 2, y }), { nodes: [node.id] });
      const { source, target } = on.edge;
      announce(`${kind.title} ${node.id} inserted between ${titleAt(scope, source)} and ${titleAt(scope, target)}`);
      return pathOf(scope, node.id);
    }
    const joined = from === undefined ? [] : joinTo(splitPath(from.path).id, from.handle, node, kind, handle);
    const position = from && !at ? space.besides(from) : space.freeFrom(scope, { x, y });
    run(scope, { type: "addNode", scope, node, position, edges: joined }, { nodes: [node.id] });
    const after = from && joined.length > 0 ? `, connected to ${titleAt(scope, splitPath(from.path).id)}` : "";
    announce(`${kind.title} ${node.id} added${after}`);
    return pathOf(scope, node.id);
  };
  /** Puts a node on an edge, and moves what follows down where it would cover it. */
  const insertion = (scope: Scope, edge: FlowEdge, node: FlowNode, handle: string, point: Point): Command => {
    const { stored, owns, toStored } = measured(scope);
    const [before, after] = [stored.get(edge.source), stored.get(edge.target)];
    const more = handle === "out" ? {} : { handle };
    const at = toStored(point);
    const position = { x: snap(at.x), y: snap(at.y) };
    const insert: Command = { type: "insertOnEdge", scope, edge, node, ...more, position };
    if (!before || !after || after.y <= before.y) return insert;
    const top = before.y + (owns.get(edge.source) ?? sizeOf(1)).height + NEXT;
    const missing = top + HEAD_HEIGHT + NEXT - after.y;
    if (missing <= 0) return insert;
    const positions: Record<string, Point> = {};
    for (const [id, { x, y }] of stored) if (y >= after.y) positions[id] = { x, y: snap(y + missing) };
    const between = { x: position.x, y: snap(top) };
    return {
      type: "all",
      commands: [
        { ...insert, position: between },
        { type: "moveNodes", scope, positions },
      ],
    };
  };
  /** The document with the places of all nodes of a flow. */
  const placed = (scope: Scope): FlowDocument => {
    const { document, kinds } = now().state;
    const known = positionsIn(document, scope);
    const missing = [...measured(scope).stored].filter(([id]) => !known.has(id));
    return apply(document, { type: "moveNodes", scope, positions: Object.fromEntries(missing) }, kinds).document;
  };
  /** Carries out a command that makes nodes with new IDs, and selects what it made. */
  const runAndSelectNew = (scope: Scope, command: Command, word: string): void => {
    const { document, kinds } = now().state;
    const namesIn = (of: FlowDocument) => ({
      nodes: nodesOf(graphAt(of, scope)).map(({ id }) => id),
      notes: notesIn(of, scope).map(({ id }) => id),
    });
    const [before, after] = [namesIn(document), namesIn(apply(document, command, kinds).document)];
    const made = {
      nodes: after.nodes.filter((id) => !before.nodes.includes(id)),
      notes: after.notes.filter((id) => !before.notes.includes(id)),
    };
    run(scope, command, made);
    announce(`${countOf(made.nodes.length + made.notes.length)} ${word}`);
  };

  return {
    ...space,
    ...edges,
    ...notes,
    firstHandle,
    afterSelected,
    add,
    placed,
    kinds: () => now().kinds,
    runAndSelectNew,
    /** Adds a node that was dragged from the palette. */
    drop(type: string, at: Point, edge: string | null): void {
      const kind = now().kindOf(type);
      const centred = { x: at.x - NODE_WIDTH / 2, y: at.y };
      if (kind) add(kind, edge === null ? { at: centred } : { at, edge }, at);
    },
    enter(path: string): void {
      now().dispatch({ type: "open", scope: path.split("/") });
    },
    /** Selects a map or loop instead of what is selected inside it. */
    leave(path: string): void {
      const { state, goTo } = now();
      if (`${pathOf(state.scope)}/`.startsWith(`${path}/`)) goTo(path);
    },
    written: (scope: Scope, command: Command): Command => now().places.written(now().state.document, scope, command),
    select(changes: readonly NodeSelectionChange[]): void {
      if (changes.length === 0) return;
      const { state, dispatch, view } = now();
      const scopeOf = (id: string): Scope => {
        const line = splitEdgeId(id);
        if (line !== null) return line[0];
        return noteIdOf(id) === null ? splitPath(id).scope : scopeOfNote(flow, view, id);
      };
      const chosen = changes.find(({ selected }) => selected);
      const scope = chosen ? scopeOf(chosen.id) : state.scope;
      const isOther = pathOf(scope) !== pathOf(state.scope);
      if (isOther) dispatch({ type: "open", scope });
      const before = isOther ? { nodes: [], edges: [], notes: [] } : state.selection;
      const [nodes, lines, sticky] = [new Set(before.nodes), new Set(before.edges), new Set(before.notes)];
      for (const { id, selected } of changes) {
        if (pathOf(scopeOf(id)) !== pathOf(scope)) continue;
        const note = noteIdOf(id);
        const line = splitEdgeId(id);
        const set = line !== null ? lines : note === null ? nodes : sticky;
        const key = line?.[1] ?? note ?? splitPath(id).id;
        if (selected) set.add(key);
        else set.delete(key);
      }
      // Nodes and edges change one after the other; each leaves the other part as it is.
      const isLines = changes.every(({ id }) => splitEdgeId(id) !== null);
      dispatch({
        type: "select",
        selection: isLines ? { edges: [...lines] } : { nodes: [...nodes], notes: [...sticky] },
      });
    },
    /** Selects what a menu opens for, unless it is part of the selection; nothing for the canvas itself. */
    choose(id: string | null): void {
      const { state, dispatch, view } = now();
      const { scope, selection } = state;
      const nothing = { nodes: [], edges: [], notes: [] };
      if (id === null) return dispatch({ type: "select", selection: nothing });
      const note = noteIdOf(id);
      const line = splitEdgeId(id);
      const around = line?.[0] ?? (note === null ? splitPath(id).scope : scopeOfNote(flow, view, id));
      const key = line?.[1] ?? note ?? splitPath(id).id;
      const kind = line ? "edges" : note === null ? "nodes" : "notes";
      const isOther = pathOf(around) !== pathOf(scope);
      if (!isOther && selection[kind].includes(key)) return;
      if (isOther) dispatch({ type: "open", scope: around });
      dispatch({ type: "select", selection: { ...nothing, [kind]: [key] } });
    },
    /** Writes the places of nodes that were dragged. */
    move(moved: readonly ViewNode[]): void {
      const byScope = new Map<string, { positions: Record<string, Point>; notes: Record<string, Point> }>();
      for (const { id, position, parentId, type } of moved) {
        const path = parentId ?? pathOf(now().view);
        const scope = path.split("/").filter((each) => each !== "");
        const inside = parentId !== undefined;
        const corner = (inside && flow.getInternalNode(parentId)?.internals.positionAbsolute) || { x: 0, y: 0 };
        const offset = inside ? offsetOf(scope) : { x: 0, y: 0 };
        const shown = { x: position.x + corner.x - offset.x, y: position.y + corner.y - offset.y };
        const group = byScope.get(path) ?? { positions: {}, notes: {} };
        if (type === "note") group.notes[noteIdOf(id) ?? ""] = rounded(shown);
        else group.positions[splitPath(id).id] = rounded(measured(scope).toStored(shown));
        byScope.set(path, group);
      }
      for (const [path, group] of byScope) {
        const scope = path.split("/").filter((each) => each !== "");
        run(scope, { type: "moveNodes", scope, ...group });
      }
    },
    /** Deletes what is selected; one node leaves an edge past itself. */
    remove(): void {
      const { scope, selection, document } = now().state;
      const chosen = edgesOf(graphAt(document, scope)).filter((edge) => selection.edges.includes(edgeKey(edge)));
      const { nodes: ids, notes: sticky } = selection;
      const count = ids.length + sticky.length + chosen.length;
      if (count === 0) return;
      const commands: Command[] = [];
      if (chosen.length > 0) commands.push({ type: "disconnect", scope, edges: chosen });
      const reconnect = ids.length === 1 && chosen.length === 0;
      if (ids.length + sticky.length > 0) commands.push({ type: "removeNodes", scope, ids, notes: sticky, reconnect });
      run(scope, { type: "all", commands }, {});
      announce(`${count === 1 && ids[0] !== undefined ? ids[0] : countOf(count)} deleted`);
    },
    duplicate(): void {
      const { scope, selection } = now().state;
      const { nodes: ids, notes: sticky } = selection;
      if (ids.length + sticky.length === 0) return;
      const command: Command = { type: "duplicate", scope, ids, notes: sticky };
      const written = now().places.written(now().state.document, scope, command);
      runAndSelectNew(scope, written, "duplicated");
    },
    /** Locks what is selected, so that it is neither moved nor deleted; unlocks it if all of it is locked. */
    toggleLock(): void {
      const { scope, selection, document } = now().state;
      const ids = selection.nodes;
      if (ids.length === 0) return;
      const known = lockedIn(document, scope);
      const locked = !ids.every((id) => known.has(id));
      run(scope, { type: "setLocked", scope, ids, locked });
      announce(`${ids.length === 1 ? ids[0] : countOf(ids.length)} ${locked ? "locked" : "unlocked"}`);
    },
    selectAll(): void {
      const { document, scope } = now().state;
      const graph = graphAt(document, scope);
      const all = nodesOf(graph).map(({ id }) => id);
      const sticky = notesIn(document, scope).map(({ id }) => id);
      now().dispatch({ type: "select", selection: { nodes: all, notes: sticky, edges: edgesOf(graph).map(edgeKey) } });
      announce(`${all.length} nodes selected`);
    },
  };
}

const scopeOfNote = (flow: Flow, view: Scope, id: string): Scope =>
  (flow.getNode(id)?.parentId ?? pathOf(view)).split("/").filter((each) => each !== "");
const rounded = ({ x, y }: Point): Point => ({ x: Math.round(x), y: Math.round(y) });
const countOf = (count: number): string => (count === 1 ? "1 part" : `${count} parts`);

/** Edges between a new node and the one that it is added for. */
function joinTo(id: string, given: string | null, node: FlowNode, kind: NodeKind, handle: string): FlowEdge[] {
  if (given === null) return [makeEdge(node.id, handle, id)];
  return kind.target ? [makeEdge(id, given, node.id)] : [];
}
