import { useEffect, type RefObject } from "react";
import { clipOf, clipText, readClip } from "../../../flow/clip.ts";
import { announce } from "../../../parts/announce.tsx";
import { isTyping } from "../../../parts/row-keys.ts";
import type { Editor } from "../editor-context.ts";
import { besideCentre } from "./in-view.ts";
import type { Edits } from "./use-canvas-edits.ts";

export interface ClipboardOf {
  readonly editor: Editor;
  readonly edits: Edits;
  readonly flow: Parameters<typeof besideCentre>[0];
}

/** The selected nodes and notes as the text that the clipboard carries, removed from the flow if they are cut; null if nothing is selected. */
export function takeSelected({ editor, edits }: ClipboardOf, isCut: boolean): string | null {
  const { scope, selection } = editor.state;
  if (selection.nodes.length + selection.notes.length === 0 || (isCut && editor.isReadOnly)) return null;
  const clip = clipOf(edits.placed(scope), scope, selection.nodes, selection.notes);
  if (isCut) edits.remove();
  const count = clip.nodes.length + clip.notes.length;
  announce(`${count} ${count === 1 ? "part" : "parts"} ${isCut ? "cut" : "copied"}`);
  return clipText(clip);
}

/** Adds what a text from the clipboard describes, or says why it is no part of a flow. */
export function pasteText({ editor, edits, flow }: ClipboardOf, text: string): void {
  const read = readClip(text);
  if ("fault" in read) return announce(read.fault);
  const { scope } = editor.state;
  const offset = edits.offsetOf(scope);
  const middle = besideCentre(flow);
  const at = edits.freeFrom(scope, { x: middle.x - offset.x, y: middle.y - offset.y });
  edits.runAndSelectNew(scope, { type: "paste", scope, clip: read.clip, at }, "pasted");
}

/** Copies nodes as JSON and pastes them, by the clipboard of the system: into another flow, another installation, an editor of texts. */
export function useClipboard(now: RefObject<ClipboardOf>): void {
  useEffect(() => {
    const take = (event: ClipboardEvent, isCut: boolean): void => {
      const hasText = (globalThis.getSelection()?.toString() ?? "") !== "";
      if (isTyping(event.target) || hasText) return;
      const text = takeSelected(now.current, isCut);
      if (text === null) return;
      event.clipboardData?.setData("text/plain", text);
      event.preventDefault();
    };
    const onPaste = (event: ClipboardEvent): void => {
      if (isTyping(event.target) || now.current.editor.isReadOnly || document.querySelector("dialog[open]")) return;
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (text === "") return;
      event.preventDefault();
      pasteText(now.current, text);
    };
    const onCopy = (event: ClipboardEvent): void => take(event, false);
    const onCut = (event: ClipboardEvent): void => take(event, true);
    document.addEventListener("copy", onCopy);
    document.addEventListener("cut", onCut);
    document.addEventListener("paste", onPaste);
    return () => {
      document.removeEventListener("copy", onCopy);
      document.removeEventListener("cut", onCut);
      document.removeEventListener("paste", onPaste);
    };
  }, [now]);
}
