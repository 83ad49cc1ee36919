import type { JSX } from "react";
import type { Scope } from "../../../flow/document.ts";
import { FlowIcon } from "../../../parts/flow-icons.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { useEditor } from "../editor-context.ts";
import { Arrange } from "./arrange.tsx";
import { Tool } from "./tool.tsx";
import type { Edits } from "./use-canvas-edits.ts";

/** The tools of the canvas: add and undo at the top, the view at the bottom. */
export function Tools({
  view,
  edits,
  mayEdit,
  isLocked,
  setLocked,
  onAdd,
  onNote,
  onFit,
  onZoom,
}: {
  readonly view: Scope;
  readonly edits: Edits;
  readonly mayEdit: boolean;
  readonly isLocked: boolean;
  readonly setLocked: (isLocked: boolean) => void;
  readonly onAdd: () => void;
  readonly onNote: () => void;
  readonly onFit: () => void;
  readonly onZoom: (direction: "in" | "out") => void;
}): JSX.Element {
  const { state, dispatch, isReadOnly } = useEditor();
  const { past, future } = state;
  return (
    <>
      {mayEdit && (
        <div className="canvas-tools" role="toolbar" aria-label="Edit the flow">
          <button type="button" className="button" disabled={isReadOnly} onClick={onAdd} title="Add a node (N)">
            <Icon name="plus" />
            Add node
          </button>
          <Tool
            label="Undo"
            keys="Ctrl+Z"
            disabled={past.length === 0 || isReadOnly}
            onClick={() => dispatch({ type: "undo" })}
          >
            <FlowIcon name="undo" />
          </Tool>
          <Tool
            label="Redo"
            keys="Ctrl+Shift+Z"
            disabled={future.length === 0 || isReadOnly}
            onClick={() => dispatch({ type: "redo" })}
          >
            <FlowIcon name="redo" />
          </Tool>
          <Tool label="Add a sticky note" keys="S" disabled={isReadOnly} onClick={onNote}>
            <FlowIcon name="note" />
          </Tool>
          <Arrange view={view} edits={edits} />
        </div>
      )}
      <div className="canvas-view" role="toolbar" aria-label="View">
        <Tool label="Zoom in" keys="+" onClick={() => onZoom("in")}>
          <Icon name="plus" />
        </Tool>
        <Tool label="Zoom out" keys="-" onClick={() => onZoom("out")}>
          <Icon name="minus" />
        </Tool>
        <Tool label="Fit to window" keys="0" onClick={onFit}>
          <FlowIcon name="fit" />
        </Tool>
        {mayEdit && (
          <Tool
            label={isLocked ? "Unlock the canvas" : "Lock the canvas"}
            pressed={isLocked}
            onClick={() => setLocked(!isLocked)}
          >
            <FlowIcon name={isLocked ? "lock" : "unlock"} />
          </Tool>
        )}
      </div>
    </>
  );
}
