import type { useReactFlow } from "@xyflow/react";
import { edgeKey, edgesOf, graphAt, lockedIn, nestedOf, nodeAt, pathOf } from "../../../flow/access.ts";
import type { Point, Scope } from "../../../flow/document.ts";
import { announce } from "../../../parts/announce.tsx";
import type { Editor } from "../editor-context.ts";
import { tidyUp } from "./arrange.tsx";
import { edgeId, type ViewEdge, type ViewNode } from "./graph-view.ts";
import type { Opening } from "./palette.tsx";
import { pasteText, takeSelected } from "./use-clipboard.ts";
import { focusPanel } from "./use-canvas-keys.ts";
import type { Edits } from "./use-canvas-edits.ts";

interface MenuItem {
  readonly label: string;
  /** Its key on the canvas. */
  readonly keys?: string;
  readonly isDisabled?: boolean;
  readonly run: () => void;
}

export interface MenuGiven {
  readonly view: Scope;
  readonly edits: Edits;
  readonly editor: Editor;
  readonly flow: ReturnType<typeof useReactFlow<ViewNode, ViewEdge>>;
  /** Where the menu is in the window. */
  readonly place: Point;
  /** Where the palette opens within the canvas. */
  readonly corner: Point;
  readonly expanded: ReadonlySet<string>;
  readonly open: (opening: Opening) => void;
  readonly connect: (path: string) => void;
  readonly toggle: (path: string) => void;
  readonly write: (note: string) => void;
  /** Shows the whole flow. */
  readonly fit: () => void;
}

interface Menu {
  readonly title: string;
  /** By group. */
  readonly items: ReadonlyArray<readonly MenuItem[]>;
}

/** The commands of the menu: the same as by keys and tools. Someone who may only read gets the ones that change nothing. */
export function menuItems(given: MenuGiven): Menu {
  const { nodes, edges, notes } = given.editor.state.selection;
  if (nodes.length + notes.length > 0) return ofSelection(given);
  return edges.length > 0 ? ofEdge(given) : ofCanvas(given);
}

function ofSelection(given: MenuGiven): Menu {
  const { editor, edits, expanded, open, connect, toggle, write } = given;
  const { state, isReadOnly } = editor;
  const { scope, selection, document } = state;
  const { nodes: ids, notes } = selection;
  const [id] = ids.length === 1 && notes.length === 0 ? ids : [];
  const [note] = notes.length === 1 && ids.length === 0 ? notes : [];
  const node = id === undefined ? undefined : nodeAt(document, scope, id);
  const path = node === undefined ? "" : pathOf(scope, node.id);
  const locked = lockedIn(document, scope);
  const isLocked = ids.length > 0 && ids.every((each) => locked.has(each));
  const isNested = node !== undefined && nestedOf(node) !== undefined;
  const one: MenuItem[] =
    node === undefined ? [] : [{ label: "Settings", keys: "Enter", run: () => focusPanel(editor) }];
  const nested: MenuItem[] = isNested
    ? [
        {
          label: expanded.has(path) ? "Collapse its flow" : "Show its flow here",
          keys: "E",
          run: () => toggle(path),
        },
        { label: "Open its flow as a page", run: () => edits.enter(path) },
      ]
    : [];
  const copy: MenuItem = { label: "Copy", keys: "Ctrl+C", run: () => void toClipboard(given, false) };
  if (isReadOnly) return { title: titleOf(given), items: filled([one, nested, [copy]]) };
  return {
    title: titleOf(given),
    items: filled([
      [
        ...one,
        ...(note === undefined ? [] : [{ label: "Edit text", keys: "Enter", run: () => write(note) }]),
        ...(node === undefined
          ? []
          : [
              {
                label: "Add a node after it",
                keys: "N",
                run: () => open({ from: { path, handle: edits.firstHandle(path) } }),
              },
              { label: "Connect", keys: "C", run: () => connect(path) },
            ]),
      ],
      nested,
      [
        { label: "Cut", keys: "Ctrl+X", isDisabled: isLocked, run: () => void toClipboard(given, true) },
        copy,
        { label: "Duplicate", keys: "Ctrl+D", run: () => edits.duplicate() },
      ],
      [
        ...(ids.length > 1
          ? [{ label: "Tidy up the selection", keys: "T", run: () => tidyUp(edits, scope, ids) }]
          : []),
        ...(ids.length > 0 ? [{ label: isLocked ? "Unlock" : "Lock", keys: "L", run: () => edits.toggleLock() }] : []),
        { label: "Delete", keys: "Delete", isDisabled: isLocked, run: () => edits.remove() },
      ],
    ]),
  };
}

function ofEdge(given: MenuGiven): Menu {
  const { editor, edits, flow, place, corner, open } = given;
  const { scope, selection, document } = editor.state;
  const edge = edgesOf(graphAt(document, scope)).find((each) => edgeKey(each) === selection.edges[0]);
  if (editor.isReadOnly) return ofCanvas(given);
  const insert: MenuItem[] =
    edge === undefined || selection.edges.length > 1
      ? []
      : [
          {
            label: "Insert a node",
            run: () => open({ edge: edgeId(scope, edge), at: flow.screenToFlowPosition(place), corner }),
          },
        ];
  return {
    title: titleOf(given),
    items: [[...insert, { label: "Delete", keys: "Delete", run: () => edits.remove() }]],
  };
}

function ofCanvas(given: MenuGiven): Menu {
  const { editor, edits, flow, view, place, corner, open, write, fit } = given;
  const { state, dispatch, isReadOnly } = editor;
  const look: MenuItem[] = [
    { label: "Select all", keys: "Ctrl+A", run: () => edits.selectAll() },
    { label: "Fit to window", keys: "0", run: fit },
  ];
  if (isReadOnly) return { title: "Canvas", items: [look] };
  return {
    title: "Canvas",
    items: [
      [
        { label: "Add node", keys: "N", run: () => open({ at: flow.screenToFlowPosition(place), corner }) },
        {
          label: "Add a sticky note",
          keys: "S",
          run: () => write(edits.addNote(flow.screenToFlowPosition(place))),
        },
        { label: "Paste", keys: "Ctrl+V", run: () => void fromClipboard(given) },
      ],
      [
        {
          label: "Undo",
          keys: "Ctrl+Z",
          isDisabled: state.past.length === 0,
          run: () => dispatch({ type: "undo" }),
        },
        {
          label: "Redo",
          keys: "Ctrl+Shift+Z",
          isDisabled: state.future.length === 0,
          run: () => dispatch({ type: "redo" }),
        },
      ],
      [...look, { label: "Tidy up", keys: "T", run: () => tidyUp(edits, view) }],
    ],
  };
}

const filled = (groups: ReadonlyArray<readonly MenuItem[]>): ReadonlyArray<readonly MenuItem[]> =>
  groups.filter((each) => each.length > 0);

function titleOf({ editor: { state } }: MenuGiven): string {
  const { nodes, notes, edges } = state.selection;
  if (nodes.length + notes.length > 1) return `${nodes.length + notes.length} parts`;
  if (nodes[0] !== undefined) return `Node ${nodes[0]}`;
  return notes.length > 0 ? "Sticky note" : edges.length > 1 ? `${edges.length} edges` : "Edge";
}

// Over plain HTTP on a host other than localhost a page has no clipboard besides the keys, although its types declare one.
async function toClipboard({ editor, edits, flow }: MenuGiven, isCut: boolean): Promise<void> {
  if (!("clipboard" in navigator)) return announce(`Press Ctrl+${isCut ? "X" : "C"}`);
  const text = takeSelected({ editor, edits, flow }, isCut);
  if (text !== null) await navigator.clipboard.writeText(text);
}

async function fromClipboard({ editor, edits, flow }: MenuGiven): Promise<void> {
  try {
    pasteText({ editor, edits, flow }, await navigator.clipboard.readText());
  } catch {
    announce("The browser does not let this page read the clipboard. Press Ctrl+V.");
  }
}
