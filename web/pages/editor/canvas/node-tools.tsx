import { NodeToolbar, Position } from "@xyflow/react";
import type { JSX } from "react";
import { lockedIn, pathOf } from "../../../flow/access.ts";
import { FlowIcon } from "../../../parts/flow-icons.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { useEditor } from "../editor-context.ts";
import { viewIdOfNote } from "./graph-view.ts";
import type { Opening } from "./palette.tsx";
import { Tool } from "./tool.tsx";
import type { Edits } from "./use-canvas-edits.ts";

/** What can be done with the selected nodes, above them; each has a key too. */
export function NodeTools({
  edits,
  onAdd,
  onConnect,
}: {
  readonly edits: Edits;
  readonly onAdd: (opening: Opening) => void;
  readonly onConnect: (path: string) => void;
}): JSX.Element | null {
  const { state, isReadOnly } = useEditor();
  const { scope, selection, document } = state;
  const paths = selection.nodes.map((id) => pathOf(scope, id));
  const notes = selection.notes.map(viewIdOfNote);
  if (paths.length + notes.length === 0 || isReadOnly) return null;
  const [path] = paths.length === 1 && notes.length === 0 ? paths : [];
  const locked = lockedIn(document, scope);
  const isLocked = selection.nodes.length > 0 && selection.nodes.every((id) => locked.has(id));
  return (
    <NodeToolbar nodeId={[...paths, ...notes]} isVisible position={Position.Top} offset={16}>
      <div className="node-tools" role="toolbar" aria-label="Selection">
        {path !== undefined && (
          <>
            <Tool
              label="Add a node after it"
              keys="N"
              onClick={() => onAdd({ from: { path, handle: edits.firstHandle(path) } })}
            >
              <Icon name="plus" />
            </Tool>
            <Tool label="Connect" keys="C" onClick={() => onConnect(path)}>
              <FlowIcon name="link" />
            </Tool>
          </>
        )}
        <Tool label="Duplicate" keys="Ctrl+D" onClick={() => edits.duplicate()}>
          <Icon name="copy" />
        </Tool>
        {paths.length > 0 && (
          <Tool label={isLocked ? "Unlock" : "Lock"} keys="L" pressed={isLocked} onClick={() => edits.toggleLock()}>
            <FlowIcon name={isLocked ? "lock" : "unlock"} />
          </Tool>
        )}
        <Tool label="Delete" keys="Delete" disabled={isLocked} onClick={() => edits.remove()}>
          <FlowIcon name="trash" />
        </Tool>
      </div>
    </NodeToolbar>
  );
}
