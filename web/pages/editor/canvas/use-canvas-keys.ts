import { useReactFlow } from "@xyflow/react";
import { useEffect, useRef, type RefObject } from "react";
import { edgesOf, graphAt, pathOf } from "../../../flow/access.ts";
import type { Point, Scope } from "../../../flow/document.ts";
import { announce } from "../../../parts/announce.tsx";
import { isTyping } from "../../../parts/row-keys.ts";
import { useEditor, type Editor } from "../editor-context.ts";
import { tidyUp } from "./arrange.tsx";
import { GRID } from "./geometry.ts";
import { splitPath, type View, type ViewEdge, type ViewNode } from "./graph-view.ts";
import type { Opening } from "./palette.tsx";
import { reveal } from "./reveal.ts";
import { besideCentre } from "./in-view.ts";
import { useClipboard } from "./use-clipboard.ts";
import type { Edits } from "./use-canvas-edits.ts";

interface Given {
  readonly frame: RefObject<HTMLElement | null>;
  readonly view: Scope;
  readonly edits: Edits;
  readonly drawn: View;
  readonly open: (opening: Opening) => void;
  readonly connect: (path: string) => void;
  readonly toggle: (path: string) => void;
  /** Begins to write the text of a sticky note. */
  readonly write: (note: string) => void;
  /** Shows the whole flow. */
  readonly fit: () => void;
  readonly zoom: (direction: "in" | "out") => void;
  /** Opens the menu of what is selected. */
  readonly menu: () => void;
}
type Now = Given & { readonly editor: Editor; readonly flow: ReturnType<typeof useReactFlow<ViewNode, ViewEdge>> };

/** Keys of the canvas. Fields keep their own: keys that are typed into one do nothing here. */
export function useCanvasKeys(given: Given): void {
  const editor = useEditor();
  const flow = useReactFlow<ViewNode, ViewEdge>();
  const now = useRef<Now>({ ...given, editor, flow });
  useEffect(() => {
    now.current = { ...given, editor, flow };
  });
  useClipboard(now);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const at = now.current;
      const isControl = event.ctrlKey || event.metaKey;
      if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
      if (isTyping(event.target) && !(isControl && leavesUndo(event))) return;
      if (isControl && !event.altKey ? commandKey(event, at) : !event.altKey && plainKey(event, at)) {
        event.preventDefault();
        return;
      }
      const step = ARROWS[event.key];
      if (step === undefined || isControl || !isOnCanvas(at)) return;
      event.preventDefault();
      if (event.altKey) nudge(at, step, event.shiftKey ? 5 * GRID : GRID);
      else walk(at, step);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  // A node that is reached by Tab is the one that keys act on.
  useEffect(() => {
    const { current: frame } = given.frame;
    const onFocus = ({ target, relatedTarget }: FocusEvent): void => {
      // The palette gives the focus back to where it was.
      if (relatedTarget instanceof Element && relatedTarget.closest(".palette")) return;
      if (!(target instanceof HTMLElement) || !target.matches(".react-flow__node-step:focus-visible")) return;
      const path = target.dataset["id"];
      const { state, goTo } = now.current.editor;
      if (path === undefined || state.selection.nodes.length > 1 || selectedPath(now.current) === path) return;
      goTo(path);
    };
    frame?.addEventListener("focusin", onFocus);
    return () => frame?.removeEventListener("focusin", onFocus);
  }, [given.frame]);
}

/** Whether an undo key comes from a code field that has no history of its own, because the editor's has its changes. */
function leavesUndo({ key, target }: KeyboardEvent): boolean {
  const isUndo = key.toLowerCase() === "z" || key.toLowerCase() === "y";
  return isUndo && target instanceof HTMLElement && target.isContentEditable;
}

const ARROWS: Readonly<Record<string, Point>> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

function selectedPath({ editor: { state } }: Now): string | null {
  const [id, ...more] = state.selection.nodes;
  return id === undefined || more.length > 0 ? null : pathOf(state.scope, id);
}

/** Whether keys belong to the canvas, and not to a panel or the navigation. */
function isOnCanvas({ frame }: Now): boolean {
  const { activeElement: at } = document;
  // The title has the focus after another page.
  return at === null || at === document.body || at.matches("#content, h1") || frame.current?.contains(at) === true;
}

function commandKey(event: KeyboardEvent, at: Now): boolean {
  const { dispatch, isReadOnly, state } = at.editor;
  const key = event.key.toLowerCase();
  if (isReadOnly && key !== "a") return false;
  switch (key) {
    case "z":
    case "y": {
      const isRedo = key === "y" || event.shiftKey;
      const steps = isRedo ? state.future : state.past;
      dispatch({ type: isRedo ? "redo" : "undo" });
      announce(steps.length === 0 ? `Nothing to ${isRedo ? "redo" : "undo"}` : isRedo ? "Redone" : "Undone");
      return true;
    }
    case "a":
      if (!isOnCanvas(at)) return false;
      at.edits.selectAll();
      return true;
    case "d":
      at.edits.duplicate();
      return true;
    case "s":
      void at.editor.saveNow();
      return true;
    case "f":
      at.editor.openPanel("search");
      return true;
    default:
      return false;
  }
}

function plainKey(event: KeyboardEvent, at: Now): boolean {
  if (!isOnCanvas(at)) return false;
  const { editor, edits, flow } = at;
  const path = selectedPath(at);
  const [note] = editor.state.selection.notes;
  if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) {
    at.menu();
    return true;
  }
  if (editor.isReadOnly && !["Enter", "Escape", "+", "-", "0"].includes(event.key)) return false;
  switch (event.key) {
    case "n":
    case "N":
      at.open(edits.afterSelected());
      return true;
    case "c":
      if (path !== null) at.connect(path);
      return path !== null;
    case "s":
      at.write(edits.addNote(besideCentre(flow)));
      return true;
    case "t":
      if (editor.state.selection.nodes.length > 1) tidyUp(edits, editor.state.scope, editor.state.selection.nodes);
      else tidyUp(edits, at.view);
      return true;
    case "Delete":
      edits.remove();
      return true;
    case "Enter":
      // A button keeps its own Enter.
      if (document.activeElement instanceof HTMLButtonElement) return false;
      if (path !== null) focusPanel(editor);
      else if (note !== undefined && !editor.isReadOnly) at.write(note);
      return path !== null || note !== undefined;
    case "l":
      edits.toggleLock();
      return true;
    case "e":
      if (path !== null) at.toggle(path);
      return path !== null;
    case "Escape":
      editor.dispatch({ type: "select", selection: { nodes: [], edges: [], notes: [] } });
      return true;
    case "+":
      at.zoom("in");
      return true;
    case "-":
      at.zoom("out");
      return true;
    case "0":
      at.fit();
      return true;
    default:
      return false;
  }
}

/** Moves the focus into the form of the selected node. */
export function focusPanel(editor: Editor): void {
  editor.openPanel(null);
  let tries = 0;
  const look = (): void => {
    const field = document.querySelector<HTMLElement>(
      ".editor-side-body :is(input, select, textarea, [contenteditable='true'], button):not(:disabled)",
    );
    if (field) return field.focus();
    tries += 1;
    if (tries < 60) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** Moves what is selected a little. */
function nudge({ editor: { state, dispatch, isReadOnly }, edits }: Now, { x, y }: Point, by: number): void {
  const { scope, selection } = state;
  if (isReadOnly || selection.nodes.length === 0) return;
  const { stored } = edits.measured(scope);
  const positions = selection.nodes.map((id) => {
    const at = stored.get(id) ?? { x: 0, y: 0 };
    return [id, { x: at.x + x * by, y: at.y + y * by }] as const;
  });
  const command = { type: "moveNodes", scope, positions: Object.fromEntries(positions) } as const;
  dispatch({ type: "do", command: edits.written(scope, command), group: `nudge ${selection.nodes.join()}` });
}

/** Goes to the next node: along an edge down or up, to the nearest one on the left or right. */
function walk(now: Now, { x, y }: Point): void {
  const { editor, edits } = now;
  const path = selectedPath(now);
  if (path === null) {
    const first = now.drawn.nodes.find(({ type }) => type === "step");
    if (first) go(now, first.id);
    return;
  }
  const { scope, id } = splitPath(path);
  const { places } = edits.measured(scope);
  const here = places.get(id) ?? { x: 0, y: 0 };
  const edges = edgesOf(graphAt(editor.state.document, scope));
  const near =
    y > 0
      ? edges.filter(({ source }) => source === id).map(({ target }) => target)
      : y < 0
        ? edges.filter(({ target }) => target === id).map(({ source }) => source)
        : [...places].flatMap(([each, at]) => (each !== id && Math.sign(at.x - here.x) === x ? [each] : []));
  const distance = (each: string): number => {
    const at = places.get(each) ?? here;
    return Math.abs(at.x - here.x) + (y === 0 ? 3 * Math.abs(at.y - here.y) : 0);
  };
  const next = near.toSorted((one, other) => distance(one) - distance(other))[0];
  if (next === undefined)
    announce(y > 0 ? "No edge leads on from here" : y < 0 ? "No edge leads here" : "No node there");
  else go(now, pathOf(scope, next));
}

function go({ editor, flow, frame }: Now, path: string): void {
  editor.goTo(path);
  reveal(flow, frame.current, path);
}
