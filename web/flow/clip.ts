import { parseExactJson } from "../../src/domain/exact-json.ts";
import {
  allNotes,
  edgesOf,
  fieldOf,
  graphAt,
  idsOf,
  isNote,
  isObject,
  isPoint,
  nestedOf,
  newId,
  nodesOf,
  pathOf,
} from "./access.ts";
import type {
  Clip,
  Command,
  FlowDocument,
  FlowEdge,
  FlowNode,
  Json,
  NodeKind,
  Note,
  Point,
  Scope,
} from "./document.ts";
import { edgeWithIds, isNodeId, renameReads, renamesOf } from "./rename.ts";
import { updateGraph, updateUi } from "./update.ts";

/** Most text that is read from the clipboard, in characters. */
const MAX_CHARS = 5_000_000;
const MAX_DEPTH = 100;
const MAX_NODES = 1000;
/** Farthest place from the origin, and largest side of a note. */
const MAX_PLACE = 1_000_000;
const MAX_SIDE = 10_000;
/** How far a copy is placed from its original. */
const OFFSET = 40;

/** The nodes and sticky notes to copy, with the edges between the nodes and everything inside them. */
export function clipOf(
  document: FlowDocument,
  scope: Scope,
  ids: readonly string[],
  notes: readonly string[] = [],
): Clip {
  const graph = graphAt(document, scope);
  const nodes = nodesOf(graph).filter(({ id }) => ids.includes(id));
  const copied = new Set(nodes.map(({ id }) => id));
  const before = scope.length === 0 ? "" : `${pathOf(scope)}/`;
  const below = (path: string): string | null => {
    if (!path.startsWith(before)) return null;
    const rest = path.slice(before.length);
    return copied.has(rest.split("/")[0] ?? "") ? rest : null;
  };
  const placed = isObject(document.ui?.positions) ? Object.entries(document.ui.positions) : [];
  return {
    nodes,
    edges: edgesOf(graph).filter(({ source, target }) => copied.has(source) && copied.has(target)),
    positions: Object.fromEntries(
      placed.flatMap(([path, point]) => {
        const rest = below(path);
        return rest === null || !isPoint(point) ? [] : [[rest, point]];
      }),
    ),
    notes: allNotes(document).flatMap(({ scope: own = "", ...note }) => {
      if (own === pathOf(scope)) return notes.includes(note.id) ? [note] : [];
      const rest = below(own);
      return rest === null ? [] : [{ ...note, scope: rest }];
    }),
  };
}

/** The text for the clipboard. */
export const clipText = (clip: Clip): string => JSON.stringify({ millrace: "nodes", ...clip }, null, 2);

/** Reads what was copied here or in another installation: nodes, a whole flow, or one node. Any other text is refused with the reason. */
export function readClip(text: string): { readonly clip: Clip } | { readonly fault: string } {
  if (text.length > MAX_CHARS) return { fault: `The clipboard has more than ${MAX_CHARS} characters.` };
  let value: Json;
  try {
    value = parseExactJson(text);
  } catch {
    return { fault: "The clipboard has no nodes: its text is not JSON." };
  }
  if (!isPlain(value))
    return { fault: `The clipboard has fields named "__proto__", or more than ${MAX_DEPTH} levels.` };
  const graph = graphOf(value);
  const nodes = nodesOf(graph);
  if (nodes.length === 0 && notesOf(graph).length === 0) return { fault: "The clipboard has no nodes." };
  const all = nodes.reduce((sum, node) => sum + 1 + idsOf(nestedOf(node) ?? { nodes: [], edges: [] }).size, 0);
  if (all > MAX_NODES) return { fault: `The clipboard has more than ${MAX_NODES} nodes.` };
  const ids = new Set(nodes.map(({ id }) => id));
  const edges = edgesOf(graph).filter(({ source, target, source_handle: handle }) => {
    return ids.has(source) && ids.has(target) && (handle === undefined || typeof handle === "string");
  });
  const points = fieldOf(graph, "positions") ?? fieldOf(fieldOf(graph, "ui"), "positions");
  const placed = isObject(points) ? Object.entries(points) : [];
  return {
    clip: {
      nodes,
      edges,
      positions: Object.fromEntries(
        placed.flatMap(([path, point]) => (isPoint(point) ? [[path, { x: near(point.x), y: near(point.y) }]] : [])),
      ),
      notes: notesOf(graph).map((note) => ({
        ...note,
        x: near(note.x),
        y: near(note.y),
        width: side(note.width),
        height: side(note.height),
      })),
    },
  };
}

/** A single node counts as a graph of one node. */
function graphOf(value: Json): Json {
  if (!isObject(value) || typeof value["type"] !== "string" || Array.isArray(value["nodes"])) return value;
  return { nodes: [{ ...value, id: value["id"] ?? "" }], edges: [] };
}

function notesOf(graph: Json): readonly Note[] {
  const notes = fieldOf(graph, "notes") ?? fieldOf(fieldOf(graph, "ui"), "notes");
  return Array.isArray(notes) ? (notes as readonly unknown[]).filter(isNote).slice(0, MAX_NODES) : [];
}

const near = (place: number): number => Math.max(-MAX_PLACE, Math.min(MAX_PLACE, place));
const side = (length: number): number => Math.max(1, Math.min(MAX_SIDE, length));

/** Whether the value can be part of a flow. Iterative, so that no depth overflows the stack. */
function isPlain(value: Json): boolean {
  const open: Array<readonly [Json | undefined, number]> = [[value, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [each, depth] = next;
    if (typeof each !== "object" || each === null) continue;
    if (depth >= MAX_DEPTH || Object.hasOwn(each, "__proto__")) return false;
    for (const inner of Object.values(each) as readonly Json[]) open.push([inner, depth + 1]);
  }
  return true;
}

export function duplicate(
  document: FlowDocument,
  { scope, ids, notes }: Extract<Command, { readonly type: "duplicate" }>,
  kinds: readonly NodeKind[],
): FlowDocument {
  return paste(document, { type: "paste", scope, clip: clipOf(document, scope, ids, notes) }, kinds);
}

/**
 * Adds copies of the nodes to a flow. An ID that the document has becomes a new one, also in what the copies read from each
 * other; what they read from other nodes stays as it is.
 */
export function paste(
  document: FlowDocument,
  { scope, clip, at }: Extract<Command, { readonly type: "paste" }>,
  kinds: readonly NodeKind[],
): FlowDocument {
  if (graphAt(document, scope) === undefined || clip.nodes.length + clip.notes.length === 0) return document;
  const ids = freeIds(document, clip.nodes);
  const firsts = new Map<string, string>();
  for (const [index, { id }] of clip.nodes.entries()) if (!firsts.has(id)) firsts.set(id, ids[index] ?? id);
  const renames = renamesOf(new Map([...firsts].filter(([id, to]) => id !== to)), clip.nodes, scope, kinds);
  const nodes = renameReads({ nodes: clip.nodes }, renames, kinds).nodes.map((node, index) => {
    const id = ids[index] ?? node.id;
    return id === node.id ? node : { ...node, id };
  });
  const edges = clip.edges.map((edge) => edgeWithIds(edge, firsts));
  const pasted = updateGraph(document, scope, (graph) => ({
    ...graph,
    nodes: [...listOf<FlowNode>(graph.nodes), ...nodes],
    edges: edges.length === 0 ? graph.edges : [...listOf<FlowEdge>(graph.edges), ...edges],
  }));
  return withPlaces(nodes.length === 0 ? document : pasted, scope, clip, firsts, at);
}

/** The IDs of the copies. New ones are in no flow of the copies, so that no expression means another node by them. */
function freeIds(document: FlowDocument, nodes: readonly FlowNode[]): readonly string[] {
  const taken = idsOf(document);
  const used = idsOf({ nodes, edges: [] }, new Set(taken));
  return nodes.map(({ id, type }) => {
    const free = !isNodeId(id) || taken.has(id) ? newId(document, type, used) : id;
    taken.add(free);
    used.add(free);
    return free;
  });
}

function withPlaces(
  document: FlowDocument,
  scope: Scope,
  clip: Clip,
  ids: ReadonlyMap<string, string>,
  at: Point | undefined,
): FlowDocument {
  const renamed = (path: string): string => {
    const [first = "", ...rest] = path.split("/");
    return [...scope, ids.get(first) ?? first, ...rest].join("/");
  };
  const isTop = (path: string): boolean => ids.has(path);
  const known = Object.entries(clip.positions).filter(([path]) => ids.has(path.split("/")[0] ?? ""));
  const tops = [...known.filter(([path]) => isTop(path)).map(([, point]) => point), ...clip.notes.filter(isTopNote)];
  return updateUi(document, (ui) => {
    const before = isObject(ui.positions) ? ui.positions : {};
    const notes = allNotes(document);
    const { x, y } = shiftOf(tops, at, [...Object.values(before), ...notes]);
    const points = known.map(([path, point]) => [
      renamed(path),
      isTop(path) ? { x: point.x + x, y: point.y + y } : point,
    ]);
    const used = new Set(notes.map(({ id }) => id));
    const copies = clip.notes.map((note) => {
      const id = freeNoteId(used);
      used.add(id);
      if (!isTopNote(note)) return { ...note, id, scope: renamed(note.scope ?? "") };
      const { scope: _, ...own } = note;
      return {
        ...own,
        id,
        x: note.x + x,
        y: note.y + y,
        ...(scope.length === 0 ? {} : { scope: pathOf(scope) }),
      };
    });
    let changed = ui;
    if (points.length > 0) changed = { ...changed, positions: { ...before, ...Object.fromEntries(points) } };
    if (copies.length > 0) changed = { ...changed, notes: [...listOf<Note>(ui.notes ?? []), ...copies] };
    return changed;
  });
}

const isTopNote = (note: Note): boolean => (note.scope ?? "") === "";

/** An ID that no sticky note has. */
export function freeNoteId(used: ReadonlySet<string>): string {
  for (let number = 0; ; number += 1) if (!used.has(`note-${number}`)) return `note-${number}`;
}

/** How far the copies are moved: to `at`, or else so far that none covers its original exactly. */
function shiftOf(tops: readonly Point[], at: Point | undefined, around: readonly Point[]): Point {
  if (tops.length === 0) return { x: 0, y: 0 };
  if (at !== undefined)
    return { x: at.x - Math.min(...tops.map(({ x }) => x)), y: at.y - Math.min(...tops.map(({ y }) => y)) };
  const places = new Set(around.map((point) => `${point.x} ${point.y}`));
  let shift = 0;
  while (tops.some(({ x, y }) => places.has(`${x + shift} ${y + shift}`))) shift += OFFSET;
  return { x: shift, y: shift };
}

const listOf = <Item>(list: readonly Item[]): readonly Item[] => (Array.isArray(list) ? list : []);
