import { Position, type Edge, type Node } from "@xyflow/react";
import type { NodeKind } from "../../../api/flows.ts";
import {
  edgeKey,
  edgesOf,
  graphAt,
  handleOf,
  lockedIn,
  nestedOf,
  nodesOf,
  notesIn,
  pathOf,
} from "../../../flow/access.ts";
import { boundsOf } from "../../../flow/arrange.ts";
import type { FlowDocument, FlowEdge, FlowNode, Note, Point, Scope, Selection, Size } from "../../../flow/document.ts";
import { handlesOf } from "../../../flow/kinds.ts";
import type { ShownValue } from "../editor-context.ts";
import { GROUP_PADDING, NODE_WIDTH, handleShare, near, sizeOf } from "./geometry.ts";
import { makeRoom, withoutRoom } from "./room.ts";
import { summaryOf, titleOf } from "./step-text.ts";

/** What is drawn of a node: texts, numbers and booleans only, so that equal data is found by comparing fields. */
export interface StepData extends Record<string, string | number | boolean> {
  readonly id: string;
  readonly path: string;
  readonly title: string;
  readonly summary: string;
  readonly group: string;
  readonly icon: string;
  readonly errors: number;
  readonly warnings: number;
  /** The first problem in words. */
  readonly problem: string;
  readonly state: string;
  readonly stateNote: string;
  readonly notes: string;
  readonly isPinned: boolean;
  readonly isLocked: boolean;
  readonly hasInput: boolean;
  /** Whether it contains a flow, and whether that is shown in place. */
  readonly isNested: boolean;
  readonly isOpen: boolean;
  /** Handles from left to right, separated by line breaks. */
  readonly handles: string;
}
export interface NoteData extends Record<string, string | number | boolean> {
  readonly id: string;
  readonly text: string;
  readonly color: string;
}
export type StepNode = Node<StepData, "step">;
export type NoteNode = Node<NoteData, "note">;
export type ViewNode = StepNode | NoteNode;
export type ViewEdge = Edge<{ readonly label: string; readonly fits: boolean }, "line">;

/** What is wrong with a node. */
export interface Marks {
  readonly errors: number;
  readonly warnings: number;
  readonly problem: string;
}

export interface ViewInput {
  readonly document: FlowDocument;
  /** The flow that fills the canvas. */
  readonly view: Scope;
  /** Paths of the maps and loops whose flows are shown in place. */
  readonly expanded: ReadonlySet<string>;
  readonly kindOf: (type: string) => NodeKind | undefined;
  readonly marks: ReadonlyMap<string, Marks>;
  /** Edges that do not fit, by scope and key. */
  readonly misfits: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, ShownValue>;
  readonly pins: ReadonlyMap<string, unknown>;
  readonly placesOf: (scope: Scope, sizes: ReadonlyMap<string, Size>) => ReadonlyMap<string, Point>;
  /** The flow that the selection is in. */
  readonly scope: Scope;
  readonly selection: Selection;
  readonly isReadOnly: boolean;
}

export interface View {
  readonly nodes: readonly ViewNode[];
  readonly edges: readonly ViewEdge[];
}

/** Prefix of the canvas's IDs of sticky notes; node paths cannot contain a colon. */
const NOTE = "note:";
export const noteIdOf = (id: string): string | null => (id.startsWith(NOTE) ? id.slice(NOTE.length) : null);
export const viewIdOfNote = (id: string): string => `${NOTE}${id}`;
export const edgeId = (scope: Scope, edge: FlowEdge): string => JSON.stringify([pathOf(scope), edgeKey(edge)]);

/** Scope and key of an edge from the canvas's ID; null for the ID of anything else. */
export function splitEdgeId(id: string): readonly [scope: Scope, key: string] | null {
  if (!id.startsWith("[")) return null;
  try {
    const parts: unknown = JSON.parse(id);
    if (!Array.isArray(parts) || parts.length !== 2 || !parts.every((part) => typeof part === "string")) return null;
    const [path = "", key = ""] = parts;
    return [path === "" ? [] : path.split("/"), key];
  } catch {
    // A draft may have a node with such an ID.
    return null;
  }
}

/** Scope and ID of a node from its path. */
export function splitPath(path: string): { readonly scope: Scope; readonly id: string } {
  const parts = path.split("/");
  return { scope: parts.slice(0, -1), id: parts.at(-1) ?? "" };
}

/** Everything that the canvas draws. What did not change since the last time is the same object, so that it is not drawn again. */
export class Drawing {
  #last: View = { nodes: [], edges: [] };

  of(input: ViewInput): View {
    const nodes: ViewNode[] = [];
    const edges: ViewEdge[] = [];
    collect(input, input.view, undefined, { nodes, edges });
    const [oldNodes, oldEdges] = [byId(this.#last.nodes), byId(this.#last.edges)];
    this.#last = {
      nodes: nodes.map((node) => reuse(oldNodes.get(node.id), node)),
      edges: edges.map((edge) => reuse(oldEdges.get(edge.id), edge)),
    };
    return this.#last;
  }
}

const byId = <Item extends { readonly id: string }>(items: readonly Item[]): ReadonlyMap<string, Item> =>
  new Map(items.map((item) => [item.id, item]));

function reuse<Item extends object>(old: Item | undefined, item: Item): Item {
  return old !== undefined && isSame(old, item) ? old : item;
}

function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => isSame((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]))
  );
}

/** Adds the nodes, edges and notes of a flow. */
function collect(
  input: ViewInput,
  scope: Scope,
  parent: { readonly id: string; readonly place: (at: Point) => Point } | undefined,
  into: { readonly nodes: ViewNode[]; readonly edges: ViewEdge[] },
): void {
  const { document, selection, isReadOnly } = input;
  const graph = graphAt(document, scope);
  const isActive = pathOf(scope) === pathOf(input.scope);
  const selected = new Set(isActive ? selection.nodes : []);
  const locked = lockedIn(document, scope);
  const { sizes, places } = measure(input, scope);
  for (const note of notesIn(document, scope)) {
    const { id, text, color = "" } = note;
    const { x, y, width, height } = boxOf(note);
    into.nodes.push({
      id: viewIdOfNote(id),
      type: "note",
      position: parent?.place({ x, y }) ?? { x, y },
      ...(parent && { parentId: parent.id }),
      data: { id, text, color },
      width,
      height,
      measured: { width, height },
      zIndex: -1,
      selected: isActive && selection.notes.includes(id),
      draggable: !isReadOnly,
      ariaLabel: `Sticky note: ${text.slice(0, 80)}`,
      domAttributes: { tabIndex: 0 },
    });
  }
  const [focusable] = [...selected, nodesOf(graph)[0]?.id];
  const seen = new Set<string>();
  for (const node of nodesOf(graph)) {
    // A draft may have two nodes with one ID, which is a problem of the second.
    if (seen.has(node.id)) continue;
    seen.add(node.id);
    const path = pathOf(scope, node.id);
    const data = dataOf(input, scope, node, locked.has(node.id));
    const at = places.get(node.id) ?? { x: 0, y: 0 };
    const size = sizes.get(node.id) ?? sizeOf(1);
    const names = data.handles.split("\n");
    into.nodes.push({
      id: path,
      type: "step",
      position: parent?.place(at) ?? at,
      ...(parent && { parentId: parent.id }),
      data,
      ...size,
      // The library fits only nodes into the window that have been measured, which those out of view are not.
      measured: size,
      handles: handleBounds(names, data.hasInput, size),
      selected: selected.has(node.id),
      draggable: !isReadOnly && !data.isLocked,
      ariaLabel: labelOf(data),
      domAttributes: { tabIndex: node.id === focusable && (isActive || parent === undefined) ? 0 : -1 },
    });
    if (!data.isOpen) continue;
    const inner = [...scope, node.id];
    const { origin } = measure(input, inner);
    const head = sizeOf(names.length).height;
    const place = ({ x, y }: Point): Point => ({
      x: x - origin.x + GROUP_PADDING,
      y: y - origin.y + head + GROUP_PADDING,
    });
    collect(input, inner, { id: path, place }, into);
  }
  const drawn = new Set<string>();
  for (const edge of edgesOf(graph)) {
    if (!seen.has(edge.source) || !seen.has(edge.target) || drawn.has(edgeKey(edge))) continue;
    drawn.add(edgeKey(edge));
    into.edges.push({
      id: edgeId(scope, edge),
      type: "line",
      source: pathOf(scope, edge.source),
      sourceHandle: handleOf(edge),
      target: pathOf(scope, edge.target),
      selected: isActive && selection.edges.includes(edgeKey(edge)),
      data: { label: "", fits: !input.misfits.has(edgeId(scope, edge)) },
    });
  }
}

/** Where the nodes of a flow are in the document, and where they are shown: a map or loop that is shown with its flow takes more room. */
export interface Measures {
  readonly owns: ReadonlyMap<string, Size>;
  readonly stored: ReadonlyMap<string, Point>;
  readonly sizes: ReadonlyMap<string, Size>;
  readonly places: ReadonlyMap<string, Point>;
  /** The top left corner and the size of what is shown. */
  readonly origin: Point;
  readonly extent: Size;
  /** The place in the document for a place that is shown. */
  readonly toStored: (shown: Point) => Point;
}

export function measure(
  input: Pick<ViewInput, "document" | "expanded" | "kindOf" | "placesOf">,
  scope: Scope,
): Measures {
  const { document, expanded, kindOf, placesOf } = input;
  const [owns, sizes] = [new Map<string, Size>(), new Map<string, Size>()];
  for (const node of nodesOf(graphAt(document, scope))) {
    const own = sizeOf(handlesOf(kindOf(node.type), node).length);
    const isOpen = expanded.has(pathOf(scope, node.id)) && nestedOf(node) !== undefined;
    owns.set(node.id, own);
    sizes.set(node.id, isOpen ? around(own, measure(input, [...scope, node.id]).extent) : own);
  }
  const sizesOf = (id: string) => ({ own: owns.get(id) ?? sizeOf(1), shown: sizes.get(id) ?? sizeOf(1) });
  const stored = placesOf(scope, owns);
  const places = makeRoom(stored, sizesOf);
  const nodes = [...places].map(([id, at]) => ({ x: at.x, y: at.y, ...sizesOf(id).shown }));
  const { x, y, width, height } = boundsOf([...nodes, ...notesIn(document, scope).map(boxOf)]);
  const toStored = (shown: Point): Point => withoutRoom(shown, stored, sizesOf);
  return { owns, stored, sizes, places, origin: { x, y }, extent: { width, height }, toStored };
}

const LARGEST_NOTE = 4000;
const boxOf = ({ x, y, width, height }: Note): Point & Size => ({
  x: near(x),
  y: near(y),
  width: Math.max(80, Math.min(LARGEST_NOTE, width)),
  height: Math.max(40, Math.min(LARGEST_NOTE, height)),
});

const around = (own: Size, extent: Size): Size => ({
  width: Math.max(NODE_WIDTH, extent.width + 2 * GROUP_PADDING),
  height: own.height + extent.height + 2 * GROUP_PADDING,
});

function dataOf(input: ViewInput, scope: Scope, node: FlowNode, isLocked: boolean): StepData {
  const { kindOf, marks, values, pins, expanded } = input;
  const kind = kindOf(node.type);
  const path = pathOf(scope, node.id);
  const value = values.get(path);
  const isNested = nestedOf(node) !== undefined;
  return {
    id: node.id,
    path,
    title: titleOf(node, kind),
    summary: summaryOf(node, kind),
    group: kind?.group ?? "unknown",
    icon: kind?.icon ?? "",
    errors: 0,
    warnings: 0,
    problem: "",
    ...marks.get(path),
    state: value?.state ?? "",
    stateNote: value?.note ?? "",
    notes: typeof node.notes === "string" ? node.notes : "",
    isPinned: pins.has(path),
    isLocked,
    hasInput: kind?.target !== false,
    isNested,
    isOpen: isNested && expanded.has(path),
    handles: handlesOf(kind, node).join("\n"),
  };
}

function handleBounds(names: readonly string[], hasInput: boolean, size: Size): NonNullable<StepNode["handles"]> {
  const dot = { width: 1, height: 1 };
  const sources = names.map((id, index) => ({
    id,
    type: "source" as const,
    position: Position.Bottom,
    x: size.width * handleShare(index, names.length),
    y: size.height,
    ...dot,
  }));
  const target = { type: "target" as const, position: Position.Top, x: size.width / 2, y: 0, ...dot };
  return hasInput ? [target, ...sources] : sources;
}

function labelOf(data: StepData): string {
  const { errors, warnings } = data;
  const parts = [
    data.title,
    data.id,
    data.summary,
    errors > 0 ? `${errors} ${errors === 1 ? "error" : "errors"}` : "",
    warnings > 0 ? `${warnings} ${warnings === 1 ? "warning" : "warnings"}` : "",
    data.state === "" ? "" : `last try ${data.state.toLowerCase()}`,
    data.isPinned ? "pinned" : "",
    data.isLocked ? "locked" : "",
    data.isOpen ? "expanded" : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}
