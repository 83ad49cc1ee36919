import { graphAt, nodesOf, edgesOf, edgeKey, notesIn } from "./access.ts";
import { applyChanges, changesBetween, invert } from "./changes.ts";
import type { Action, Command, EditorState, FlowDocument, NodeKind, Scope, Selection, Step } from "./document.ts";
import * as edit from "./edit.ts";
import { duplicate, paste } from "./clip.ts";
import { renameNode } from "./rename.ts";
import { replaceText } from "./search.ts";
import { isEqual, withFields } from "./update.ts";

/** Commands of a group are one step if no more time passes between them, in milliseconds. */
const GROUP_MS = 1000;
const NOTHING: Selection = { nodes: [], edges: [], notes: [] };

/** Carries out a command. The document is the same object if the command changes nothing. `inverse` takes the command back exactly. */
export function apply(
  document: FlowDocument,
  command: Command,
  kinds: readonly NodeKind[] = [],
): { readonly document: FlowDocument; readonly inverse: Command } {
  const changed = edited(document, command, kinds);
  return { document: changed, inverse: { type: "change", changes: changesBetween(changed, document) } };
}

function edited(document: FlowDocument, command: Command, kinds: readonly NodeKind[]): FlowDocument {
  switch (command.type) {
    case "addNode":
      return edit.addNode(document, command);
    case "removeNodes":
      return edit.removeNodes(document, command);
    case "moveNodes":
      return edit.moveNodes(document, command);
    case "setConfig":
      return edit.setConfig(document, command, kinds);
    case "setNode":
      return edit.setNode(document, command);
    case "renameNode":
      return renameNode(document, command, kinds);
    case "duplicate":
      return duplicate(document, command, kinds);
    case "paste":
      return paste(document, command, kinds);
    case "replaceText":
      return replaceText(document, command, kinds);
    case "connect":
      return edit.connect(document, command);
    case "disconnect":
      return edit.disconnect(document, command);
    case "insertOnEdge":
      return edit.insertOnEdge(document, command);
    case "setNotes":
      return edit.setNotes(document, command);
    case "removeNotes":
      return edit.removeNotes(document, command);
    case "setLocked":
      return edit.setLocked(document, command);
    case "setSettings":
      return withFields(document, { settings: command.settings });
    case "setDocument":
      return withFields(document, command.fields);
    case "replaceDocument":
      // A text that is read again, such as after an undo, is no change.
      return isEqual(document, command.document) ? document : command.document;
    case "all":
      return command.commands.reduce((changed, each) => edited(changed, each, kinds), document);
    case "change":
      return applyChanges(document, command.changes);
    default:
      return command satisfies never;
  }
}

export function createState(document: FlowDocument, kinds: readonly NodeKind[] = []): EditorState {
  return { kinds, document, past: [], future: [], selection: NOTHING, scope: [], group: null };
}

/** The next state of the editor. Pure: what a clock says comes with the action. */
export function reduce(state: EditorState, action: Action): EditorState {
  switch (action.type) {
    case "do":
      return done(state, action);
    case "undo": {
      const step = state.past.at(-1);
      if (step === undefined) return state;
      const moved = { past: state.past.slice(0, -1), future: [...state.future, step] };
      return shown(state, moved, step, step.undo, step.before);
    }
    case "redo": {
      const step = state.future.at(-1);
      if (step === undefined) return state;
      const moved = { past: [...state.past, step], future: state.future.slice(0, -1) };
      return shown(state, moved, step, step.redo, step.after);
    }
    case "select":
      return { ...state, selection: { ...state.selection, ...action.selection } };
    case "open":
      return within({ ...state, selection: NOTHING, group: null }, action.scope);
    case "endGroup":
      return state.group === null ? state : { ...state, group: null };
    case "load":
      return createState(action.document, action.kinds ?? state.kinds);
    default:
      return action satisfies never;
  }
}

function done(state: EditorState, action: Extract<Action, { readonly type: "do" }>): EditorState {
  const { command, group: key, at = 0 } = action;
  const document = edited(state.document, command, state.kinds);
  const select = action.select ?? selectedBy(state.document, document, command, state.selection);
  const selection = select === undefined ? state.selection : { ...state.selection, ...select };
  if (document === state.document) return select === undefined ? state : { ...state, selection };
  const last = state.past.at(-1);
  const { group } = state;
  const isSame = group !== null && last !== undefined && group.key === key && Math.abs(at - group.at) <= GROUP_MS;
  const base = isSame ? group.base : state.document;
  const after = kept({ ...state, document, selection, scope: scopeAfter(state.scope, command) });
  const step: Step = {
    ...stepBetween(base, document),
    scope: "scope" in command ? command.scope : state.scope,
    before: isSame ? last.before : state.selection,
    after: after.selection,
  };
  const past = isSame ? state.past.slice(0, -1) : state.past;
  // What was typed and taken back by hand is no step.
  if (step.redo.length === 0) return { ...after, document: base, past, future: [], group: null };
  return { ...after, past: [...past, step], future: [], group: key === undefined ? null : { key, at, base } };
}

/** What is selected after a command: the nodes and notes that it added, or the node under its new ID. */
function selectedBy(
  before: FlowDocument,
  after: FlowDocument,
  command: Command,
  { nodes, edges }: Selection,
): Selection | undefined {
  switch (command.type) {
    case "addNode":
    case "insertOnEdge":
    case "duplicate":
    case "paste": {
      const { scope } = command;
      const idsIn = (document: FlowDocument): string[] => nodesOf(graphAt(document, scope)).map(({ id }) => id);
      const notesOf = (document: FlowDocument): string[] => notesIn(document, scope).map(({ id }) => id);
      const added = (ids: readonly string[], old: readonly string[]): string[] => {
        const known = new Set(old);
        return ids.filter((id) => !known.has(id));
      };
      if (before === after) return undefined;
      return { nodes: added(idsIn(after), idsIn(before)), edges: [], notes: added(notesOf(after), notesOf(before)) };
    }
    case "renameNode":
      return { nodes: nodes.map((id) => (id === command.id ? command.to : id)), edges, notes: [] };
    default:
      return undefined;
  }
}

/** The open flow keeps open if a map or loop around it gets another ID. */
function scopeAfter(scope: Scope, command: Command): Scope {
  if (command.type !== "renameNode") return scope;
  const { length } = command.scope;
  const isAround = scope[length] === command.id && command.scope.every((id, at) => scope[at] === id);
  return isAround ? scope.with(length, command.to) : scope;
}

function stepBetween(base: FlowDocument, document: FlowDocument): Pick<Step, "undo" | "redo"> {
  const redo = changesBetween(base, document);
  return { undo: invert(redo), redo };
}

/** The state after a step was undone or redone: it shows where the step was. */
function shown(
  state: EditorState,
  moved: Pick<EditorState, "past" | "future">,
  { scope }: Step,
  changes: Step["undo"],
  selection: Selection,
): EditorState {
  const open = within({ ...state, document: applyChanges(state.document, changes) }, scope);
  const isThere = open.scope.length === scope.length;
  return kept({ ...open, ...moved, selection: isThere ? selection : NOTHING, group: null });
}

/** Opens the scope, or the nearest flow around it that exists. */
function within(state: EditorState, scope: Scope): EditorState {
  let open = scope;
  while (open.length > 0 && graphAt(state.document, open) === undefined) open = open.slice(0, -1);
  return { ...state, scope: open };
}

/** The state without a scope or selection that the document no longer has. */
function kept(state: EditorState): EditorState {
  const { document, selection, scope } = within(state, state.scope);
  // Nodes of another flow can have the same IDs.
  if (scope.length !== state.scope.length) return { ...state, scope, selection: NOTHING };
  const isEmpty = selection.nodes.length + selection.edges.length + selection.notes.length === 0;
  if (isEmpty) return state;
  const graph = graphAt(document, scope);
  const nodes = new Set(nodesOf(graph).map(({ id }) => id));
  const edges = selection.edges.length === 0 ? new Set<string>() : new Set(edgesOf(graph).map(edgeKey));
  const notes =
    selection.notes.length === 0 ? new Set<string>() : new Set(notesIn(document, scope).map(({ id }) => id));
  return {
    ...state,
    selection: {
      nodes: selection.nodes.filter((id) => nodes.has(id)),
      edges: selection.edges.filter((key) => edges.has(key)),
      notes: selection.notes.filter((id) => notes.has(id)),
    },
  };
}
