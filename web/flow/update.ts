import { fieldOf, isObject, nodesOf } from "./access.ts";
import type { FlowDocument, FlowGraph, FlowNode, FlowUi, Json, JsonObject, Path, Scope } from "./document.ts";

/** The value with another one at a path; undefined removes it. Missing objects and lists on the way are made. */
export function setAt(value: Json | undefined, path: Path, set: Json | undefined): Json | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return isEqual(value, set) ? value : set;
  if (typeof key === "number") {
    const list = Array.isArray(value) ? (value as readonly Json[]) : [];
    const changed = setAt(list[key], rest, set);
    if (changed === undefined) return key < list.length ? list.toSpliced(key, 1) : value;
    return key < list.length ? list.with(key, changed) : [...list, changed];
  }
  return withField(isObject(value) ? value : {}, key, setAt(fieldOf(value, key), rest, set));
}

/** The object with a field, which keeps its place; undefined removes it. The same object if nothing changes. */
export function withField<Kind extends JsonObject>(object: Kind, name: string, value: Json | undefined): Kind {
  if (value === undefined) {
    if (!Object.hasOwn(object, name)) return object;
    return without(object, [name]) as Kind;
  }
  if (Object.hasOwn(object, name) && Object.is(object[name], value)) return object;
  return { ...object, [name]: value };
}

/** Whether both values have the same JSON text: forms make equal values anew, which is no change. */
export const isEqual = (one: Json | undefined, other: Json | undefined): boolean =>
  Object.is(one, other) ||
  (typeof one === "object" && typeof other === "object" && JSON.stringify(one) === JSON.stringify(other));

/** The object with several fields; fields with an equal value stay as they are. */
export function withFields<Kind extends JsonObject>(
  object: Kind,
  fields: Readonly<Record<string, Json | undefined>>,
): Kind {
  return Object.entries(fields).reduce((changed, [name, value]) => {
    const old = fieldOf(changed, name);
    return withField(changed, name, isEqual(old, value) ? old : value);
  }, object);
}

/** Changes the flow at a scope; the same document if there is none. */
export function updateGraph(
  document: FlowDocument,
  scope: Scope,
  change: (graph: FlowGraph) => FlowGraph,
): FlowDocument {
  return within(document, scope, change) as FlowDocument;
}

function within(graph: FlowGraph, scope: Scope, change: (graph: FlowGraph) => FlowGraph): FlowGraph {
  const [id, ...rest] = scope;
  if (id === undefined) return change(graph);
  return updateNode(graph, id, (node) => {
    const flow = fieldOf(node.config, "flow");
    if (!isObject(flow)) return node;
    const changed = within(flow as FlowGraph, rest, change);
    return changed === flow ? node : { ...node, config: { ...node.config, flow: changed } };
  });
}

export function updateNode(graph: FlowGraph, id: string, change: (node: FlowNode) => FlowNode): FlowGraph {
  const node = nodesOf(graph).find((each) => each.id === id);
  if (node === undefined) return graph;
  const changed = change(node);
  return changed === node ? graph : { ...graph, nodes: graph.nodes.with(graph.nodes.indexOf(node), changed) };
}

/** Changes what editors keep; an empty `ui` and empty fields of it are left out if the change made them so. */
export function updateUi(document: FlowDocument, change: (ui: FlowUi) => FlowUi): FlowDocument {
  const ui = isObject(document.ui) ? document.ui : {};
  const changed = change(ui);
  if (changed === ui) return document;
  return withField(document, "ui", Object.keys(changed).length === 0 ? undefined : changed);
}

/** Sets a field of an object that was just made. Defines it, because an assignment to `__proto__` would be none. */
export function setOwn<Value>(object: Record<string, Value>, name: string, value: Value): void {
  if (name !== "__proto__") object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Keeps the entries whose key or value is wanted; undefined if none is left, the same object if all are. */
export function keepFields(object: JsonObject, isKept: (name: string) => boolean): JsonObject | undefined {
  const names = Object.keys(object);
  const gone = names.filter((name) => !isKept(name));
  if (gone.length === 0) return object;
  return gone.length === names.length ? undefined : without(object, gone);
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  const rest: Record<string, Json | undefined> = { ...object };
  for (const name of names) delete rest[name];
  return rest;
}

export function keepItems<Item>(list: readonly Item[], isKept: (item: Item) => boolean): readonly Item[] | undefined {
  const kept = list.filter(isKept);
  if (kept.length === list.length) return list;
  return kept.length === 0 ? undefined : kept;
}
