import type {
  FlowDocument,
  FlowEdge,
  FlowGraph,
  FlowNode,
  Json,
  JsonObject,
  Note,
  Path,
  Point,
  Scope,
} from "./document.ts";

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isNode = (value: unknown): value is FlowNode =>
  isObject(value) && typeof value["id"] === "string" && typeof value["type"] === "string";
const isEdge = (value: unknown): value is FlowEdge =>
  isObject(value) && typeof value["source"] === "string" && typeof value["target"] === "string";
export const isPoint = (value: unknown): value is Point =>
  isObject(value) && Number.isFinite(value["x"]) && Number.isFinite(value["y"]);
export const isNote = (value: unknown): value is Note =>
  isPoint(value) &&
  ["id", "text"].every((name) => typeof value[name] === "string") &&
  ["width", "height"].every((name) => Number.isFinite(value[name]));

/** The own field of an object; a name such as `constructor` finds nothing else. */
export function fieldOf(value: unknown, name: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The value at a path; undefined if there is none. */
export function valueAt(value: unknown, path: Path): Json | undefined {
  let found = value as Json | undefined;
  for (const key of path) {
    if (Array.isArray(found)) found = (found as readonly Json[])[Number(key)];
    else found = fieldOf(found, String(key));
  }
  return found;
}

/** The nodes of a graph that can be shown: a draft may hold anything else. */
export function nodesOf(graph: unknown): readonly FlowNode[] {
  const nodes = fieldOf(graph, "nodes");
  if (!Array.isArray(nodes)) return [];
  return nodes.every(isNode) ? nodes : (nodes as readonly unknown[]).filter(isNode);
}

export function edgesOf(graph: unknown): readonly FlowEdge[] {
  const edges = fieldOf(graph, "edges");
  if (!Array.isArray(edges)) return [];
  return edges.every(isEdge) ? edges : (edges as readonly unknown[]).filter(isEdge);
}

/** The flow at a scope; undefined if there is no such map or loop. */
export function graphAt(document: FlowDocument, scope: Scope): FlowGraph | undefined {
  let graph: Json | undefined = document;
  for (const id of scope) graph = nestedOf(nodesOf(graph).find((node) => node.id === id));
  return isObject(graph) ? (graph as FlowGraph) : undefined;
}

/** The flow inside a node; undefined if it has none. */
export function nestedOf(node: FlowNode | undefined): FlowGraph | undefined {
  const flow = fieldOf(node?.config, "flow");
  return isObject(flow) ? (flow as FlowGraph) : undefined;
}

export const nodeAt = (document: FlowDocument, scope: Scope, id: string): FlowNode | undefined =>
  nodesOf(graphAt(document, scope)).find((node) => node.id === id);

/** The path of a node or a scope, as the API writes it: `map-0/tpl-0`. */
export const pathOf = (scope: Scope, id?: string): string => (id === undefined ? scope : [...scope, id]).join("/");

/** The places that the document gives to the nodes of a scope, by ID. */
export function positionsIn(document: FlowDocument, scope: Scope): ReadonlyMap<string, Point> {
  const positions = fieldOf(document.ui, "positions");
  const found = new Map<string, Point>();
  for (const { id } of nodesOf(graphAt(document, scope))) {
    const point = fieldOf(positions, pathOf(scope, id));
    if (isPoint(point)) found.set(id, point);
  }
  return found;
}

/** The sticky notes of a scope. */
export function notesIn(document: FlowDocument, scope: Scope): readonly Note[] {
  const path = pathOf(scope);
  return allNotes(document).filter((note) => (note.scope ?? "") === path);
}

export function allNotes(document: FlowDocument): readonly Note[] {
  const notes = fieldOf(document.ui, "notes");
  return Array.isArray(notes) ? (notes as readonly unknown[]).filter(isNote) : [];
}

export function lockedIn(document: FlowDocument, scope: Scope): ReadonlySet<string> {
  const locked = fieldOf(document.ui, "locked");
  const before = scope.length === 0 ? "" : `${pathOf(scope)}/`;
  const paths = Array.isArray(locked) ? (locked as readonly unknown[]).filter((path) => typeof path === "string") : [];
  return new Set(paths.filter((path) => path.startsWith(before)).map((path) => path.slice(before.length)));
}

export const handleOf = (edge: FlowEdge): string => edge.source_handle ?? "out";

/** The same text for edges that are the same to the flow format. */
export const edgeKey = (edge: FlowEdge): string => JSON.stringify([edge.source, handleOf(edge), edge.target]);

/** Prefixes of IDs that differ from the node type, by convention. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ["input", "in"],
  ["files", "doc"],
  ["output", "out"],
  ["template", "tpl"],
  ["condition", "if"],
  ["knowledge", "kb"],
  ["action", "act"],
  ["subflow", "sub"],
]);

/** A free ID for a node of a type: `http-0`. It is free in all flows of the document, so that no expression means another node by it. */
export function newId(document: FlowDocument, type: string, taken: ReadonlySet<string> = idsOf(document)): string {
  const prefix = PREFIXES.get(type) ?? type.replaceAll(/[^A-Za-z0-9_-]/g, "").slice(0, 50);
  for (let number = 0; ; number += 1) if (!taken.has(`${prefix}-${number}`)) return `${prefix}-${number}`;
}

/** The IDs of all nodes, in nested flows too. */
export function idsOf(graph: FlowGraph, ids = new Set<string>()): Set<string> {
  for (const node of nodesOf(graph)) {
    ids.add(node.id);
    const nested = nestedOf(node);
    if (nested !== undefined) idsOf(nested, ids);
  }
  return ids;
}
