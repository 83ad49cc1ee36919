import { NodeResizer, type NodeProps } from "@xyflow/react";
import { memo, useContext, useState, type JSX } from "react";
import { Markdown } from "../../../parts/markdown/markdown.tsx";
import { CanvasActions } from "./canvas-actions.ts";
import type { NoteNode } from "./graph-view.ts";

const COLORS = ["yellow", "green", "blue", "purple", "grey"] as const;
const MAX_CHARS = 20_000;

/** The class of a note's colour; a document may name any. */
const classOf = (color: string): string => `sticky-${COLORS.find((each) => each === color) ?? "yellow"}`;

/** A sticky note: Markdown that a double click or Enter edits. */
export const Sticky = memo(function Sticky({ data, selected }: NodeProps<NoteNode>): JSX.Element {
  const { resizeNote, colorNote, isReadOnly, editing, setEditing } = useContext(CanvasActions);
  const canEdit = selected && !isReadOnly;
  const isEditing = editing === data.id && !isReadOnly;
  return (
    <div className={`sticky ${classOf(data.color)}`} onDoubleClick={() => setEditing(data.id)}>
      {canEdit && (
        <NodeResizer
          minWidth={120}
          minHeight={64}
          onResizeEnd={(_, { x, y, width, height }) => resizeNote(data.id, { x, y, width, height })}
        />
      )}
      {isEditing ? (
        <Writing id={data.id} text={data.text} />
      ) : (
        <div className="sticky-text">
          {data.text.trim() === "" ? (
            <p className="sticky-hint">Double-click to write.</p>
          ) : (
            <Markdown text={data.text} />
          )}
        </div>
      )}
      {canEdit && !isEditing && (
        <div className="sticky-colors nodrag" role="group" aria-label="Colour of the note">
          {COLORS.map((color) => (
            <button
              key={color}
              type="button"
              className={classOf(color)}
              aria-pressed={classOf(data.color) === classOf(color)}
              aria-label={color}
              title={color}
              onClick={() => colorNote(data.id, color)}
            />
          ))}
        </div>
      )}
    </div>
  );
});

/** The text of a note while it is written; it is one step when the field is left. */
function Writing({ id, text }: { readonly id: string; readonly text: string }): JSX.Element {
  const { editNote, setEditing } = useContext(CanvasActions);
  const [typed, setTyped] = useState(text);
  return (
    <textarea
      className="sticky-input nodrag nowheel nopan"
      aria-label="Text of the note, Markdown"
      value={typed}
      maxLength={MAX_CHARS}
      ref={(field) => {
        if (field && document.activeElement !== field) field.focus();
      }}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={() => {
        if (typed !== text) editNote(id, typed);
        setEditing(null);
      }}
      onKeyDown={(event) => {
        const isDone = event.key === "Escape" || (event.key === "Enter" && (event.ctrlKey || event.metaKey));
        if (!isDone) return;
        event.preventDefault();
        event.currentTarget.closest<HTMLElement>(".react-flow__node")?.focus();
      }}
    />
  );
}
