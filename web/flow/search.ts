import { allNotes, edgesOf, fieldOf, handleOf, nestedOf, nodesOf, pathOf, valueAt } from "./access.ts";
import type {
  Command,
  FlowDocument,
  FlowEdge,
  FlowGraph,
  FlowNode,
  Json,
  JsonObject,
  NodeKind,
  Note,
  Path,
  Scope,
  TextPlace,
  TextSearch,
} from "./document.ts";
import { handlesOf, kindOf } from "./kinds.ts";
import { setAt, updateUi, withField } from "./update.ts";

/** A text in the flow with what was searched for. */
export interface TextFound extends TextPlace {
  readonly text: string;
  /** How often the text has it. */
  readonly count: number;
}

/** Texts of a node that are searched besides its configuration. */
const FIELDS = ["name", "notes", "skip_if", "default_output", "config"] as const;

/** All texts with what is searched for: names, notes and all of the configuration, in nested flows and sticky notes too. */
export function findText(document: FlowDocument, search: TextSearch): readonly TextFound[] {
  const pattern = patternOf(search);
  if (pattern === null) return [];
  const found: TextFound[] = [];
  const look = (text: string, place: TextPlace): void => {
    const count = text.match(pattern)?.length ?? 0;
    if (count > 0) found.push({ ...place, text, count });
  };
  const visit = (graph: FlowGraph | FlowDocument, scope: Scope): void => {
    for (const node of nodesOf(graph)) {
      for (const [path, text] of textsOf(node)) look(text, { of: "node", scope, id: node.id, path });
      const nested = nestedOf(node);
      if (nested !== undefined) visit(nested, [...scope, node.id]);
    }
  };
  visit(document, []);
  for (const note of allNotes(document)) {
    const scope = note.scope === undefined || note.scope === "" ? [] : note.scope.split("/");
    look(note.text, { of: "note", scope, id: note.id, path: ["text"] });
  }
  return found;
}

export function replaceText(
  document: FlowDocument,
  { search, replacement, places }: Extract<Command, { readonly type: "replaceText" }>,
  kinds: readonly NodeKind[],
): FlowDocument {
  const pattern = patternOf(search);
  if (pattern === null) return document;
  const wanted = places === undefined ? null : new Set(places.map(keyOf));
  const isWanted = (place: TextPlace): boolean => wanted === null || wanted.has(keyOf(place));
  const replaced = (text: string): string => text.replace(pattern, () => replacement);

  const change = (graph: FlowGraph, scope: Scope): FlowGraph => {
    const after = new Map<FlowNode, FlowNode>();
    for (const node of nodesOf(graph)) {
      let next = node;
      for (const [path, text] of textsOf(node))
        if (isWanted({ of: "node", scope, id: node.id, path }) && replaced(text) !== text)
          next = setAt(next, path, replaced(text)) as FlowNode;
      const nested = nestedOf(next);
      const inside = nested === undefined ? undefined : change(nested, [...scope, node.id]);
      if (inside !== nested) next = { ...next, config: { ...next.config, flow: inside } };
      if (next !== node) after.set(node, next);
    }
    if (after.size === 0) return graph;
    const changed: FlowGraph = { ...graph, nodes: graph.nodes.map((node) => after.get(node) ?? node) };
    return [...after].reduce<FlowGraph>((sum, [before, next]) => followHandles(sum, before, next, kinds), changed);
  };
  const changed = change(document, []) as FlowDocument;
  const notes = allNotes(changed);
  const isChanged = (note: Note): boolean => {
    const scope = note.scope === undefined || note.scope === "" ? [] : note.scope.split("/");
    return isWanted({ of: "note", scope, id: note.id, path: ["text"] }) && replaced(note.text) !== note.text;
  };
  if (!notes.some(isChanged)) return changed;
  return updateUi(changed, (ui) => ({
    ...ui,
    notes: (ui.notes ?? []).map((note) =>
      notes.includes(note) && isChanged(note) ? { ...note, text: replaced(note.text) } : note,
    ),
  }));
}

/** Edges stay at a handle whose entry has got another ID: at `case:b` if the case `a` became `b`. */
export function followHandles(
  graph: FlowGraph,
  before: FlowNode,
  after: FlowNode,
  kinds: readonly NodeKind[],
): FlowGraph {
  const kind = kindOf(kinds, after.type);
  if (kind === undefined || before.type !== after.type) return graph;
  const [old, now] = [handlesOf(kind, before), handlesOf(kind, after)];
  if (old.length !== now.length) return graph;
  const isOne = (handle: string, handles: readonly string[]): boolean =>
    handles.indexOf(handle) === handles.lastIndexOf(handle);
  const moved = new Map(
    old.flatMap((handle, at): Array<[string, string]> => {
      const to = now[at] ?? handle;
      return to === handle || !isOne(handle, old) || !isOne(to, now) ? [] : [[handle, to]];
    }),
  );
  if (!edgesOf(graph).some((edge) => edge.source === before.id && moved.has(handleOf(edge)))) return graph;
  const edges = graph.edges.map((edge): FlowEdge => {
    const to = fieldOf(edge, "source") === before.id ? moved.get(handleOf(edge)) : undefined;
    return to === undefined ? edge : { ...edge, source_handle: to };
  });
  return { ...graph, edges };
}

/** The pattern that finds a text literally; null for an empty one. */
function patternOf({ text, matchCase = false }: TextSearch): RegExp | null {
  return text === ""
    ? null
    : new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`), matchCase ? "gu" : "giu");
}

const keyOf = ({ of, scope, id, path }: TextPlace): string =>
  JSON.stringify(of === "note" ? [of, id] : [of, pathOf(scope, id), path]);

function* textsOf(node: FlowNode): Generator<readonly [Path, string]> {
  for (const field of FIELDS) {
    const value = valueAt(node, [field]);
    if (field === "config" && nestedOf(node) !== undefined)
      yield* textsIn(withField(value as JsonObject, "flow", undefined), [field]);
    else yield* textsIn(value, [field]);
  }
}

function* textsIn(value: Json | undefined, path: Path): Generator<readonly [Path, string]> {
  if (typeof value === "string") yield [path, value];
  else if (Array.isArray(value)) {
    for (const [at, each] of (value as readonly Json[]).entries()) yield* textsIn(each, [...path, at]);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, each] of Object.entries(value)) yield* textsIn(each, [...path, name]);
  }
}
