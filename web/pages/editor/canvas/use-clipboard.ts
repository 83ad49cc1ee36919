import { useEffect } from "react";
import type { RefObject } from "react";
import { clipOf, clipText, readClip } from "../../../flow/clip.ts";
import { announce } from "../../../parts/announce.tsx";
import { isTyping } from "../../../parts/row-keys.ts";
import type { Editor } from "../editor-context.ts";
import { besideCentre } from "./in-view.ts";
import type { Edits } from "./use-canvas-edits.ts";

interface Now {
  readonly editor: Editor;
  readonly edits: Edits;
  readonly flow: Parameters<typeof besideCentre>[0];
}

/** Copies nodes as JSON and pastes them, by the clipboard of the system: into another flow, another installation, an editor of texts. */
export function useClipboard(now: RefObject<Now>): void {
  useEffect(() => {
    const take = (event: ClipboardEvent, isCut: boolean): void => {
      const { editor, edits } = now.current;
      const { scope, selection } = editor.state;
      const hasText = (globalThis.getSelection()?.toString() ?? "") !== "";
      if (isTyping(event.target) || hasText || selection.nodes.length + selection.notes.length === 0) return;
      if (isCut && editor.isReadOnly) return;
      const clip = clipOf(edits.placed(scope), scope, selection.nodes, selection.notes);
      event.clipboardData?.setData("text/plain", clipText(clip));
      event.preventDefault();
      if (isCut) edits.remove();
      const count = clip.nodes.length + clip.notes.length;
      announce(`${count} ${count === 1 ? "part" : "parts"} ${isCut ? "cut" : "copied"}`);
    };
    const onPaste = (event: ClipboardEvent): void => {
      const { editor, edits, flow } = now.current;
      if (isTyping(event.target) || editor.isReadOnly || document.querySelector("dialog[open]")) return;
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (text === "") return;
      event.preventDefault();
      const read = readClip(text);
      if ("fault" in read) return announce(read.fault);
      const { scope } = editor.state;
      const offset = edits.offsetOf(scope);
      const middle = besideCentre(flow);
      const at = edits.freeFrom(scope, { x: middle.x - offset.x, y: middle.y - offset.y });
      edits.runAndSelectNew(scope, { type: "paste", scope, clip: read.clip, at }, "pasted");
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
