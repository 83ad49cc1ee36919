import type { JSX } from "react";
import { announce } from "../../parts/announce.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Diff } from "../../parts/diff/diff.tsx";
import { Time } from "../../parts/time.tsx";
import { useEditor } from "./editor-context.ts";
import { writeFlow } from "./flow-text.ts";
import type { Autosave, Conflict } from "./use-autosave.ts";

/** Someone else changed the draft in the meantime: who, when and what, and what to do about it. Nothing is lost either way. */
export function ConflictDialog({
  conflict,
  settle,
}: {
  readonly conflict: Conflict;
  readonly settle: Autosave["settle"];
}): JSX.Element {
  const { state, dispatch } = useEditor();
  const { change, theirs } = conflict;
  const mine = state.document;
  const keep = (): void => {
    settle(conflict, false);
    announce("Your flow is saved over theirs. Theirs is in the history.");
  };
  const take = (): void => {
    if (theirs === null) return;
    // A step that can be undone, so that one's own flow is not lost.
    dispatch({ type: "do", command: { type: "replaceDocument", document: theirs } });
    settle(conflict, true);
    announce("Their flow is shown. Undo brings yours back.");
  };
  return (
    <Dialog title="Someone else changed this draft" wide onClose={keep}>
      <p>
        <strong className="wrap">{change?.changed_by_name ?? "Someone"}</strong>{" "}
        {change?.published_as == null
          ? theirs === null
            ? "deleted the draft"
            : "changed the draft"
          : `published the draft as version ${change.published_as}`}{" "}
        <Time at={change?.changed_at} />. Your changes since then are not saved yet.
      </p>
      {theirs === null ? (
        <p>There is no draft now. Keep yours to begin a new one.</p>
      ) : (
        <>
          <p className="muted small">
            Lines with − are in theirs, lines with + in yours. The flow that you do not choose stays available: theirs
            in the history of the draft, yours through Undo.
          </p>
          <Diff before={theirs} after={mine} label="Differences between their flow and yours" />
        </>
      )}
      <div className="row">
        <button type="button" className="button button-primary" data-first onClick={keep}>
          Keep mine
        </button>
        {theirs !== null && (
          <button type="button" className="button" onClick={take}>
            Take theirs
          </button>
        )}
        <CopyButton text={() => writeFlow(mine)} label="your flow as JSON">
          Copy mine
        </CopyButton>
        {theirs !== null && (
          <CopyButton text={() => writeFlow(theirs)} label="their flow as JSON">
            Copy theirs
          </CopyButton>
        )}
      </div>
    </Dialog>
  );
}
