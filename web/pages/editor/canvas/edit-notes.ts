import { allNotes, notesIn, pathOf } from "../../../flow/access.ts";
import { freeNoteId } from "../../../flow/clip.ts";
import type { Note, Point } from "../../../flow/document.ts";
import { announce } from "../../../parts/announce.tsx";
import { snap } from "./geometry.ts";
import { viewIdOfNote } from "./graph-view.ts";
import type { Flow, Now, Space } from "./space.ts";

const SIZE = { width: 240, height: 120 };

/** What people do with sticky notes. */
export function createNoteEdits(now: () => Now, { run, scopeAt, offsetOf }: Space, flow: Flow) {
  const change = (id: string, fields: Partial<Note>): void => {
    const { document, scope } = now().state;
    const note = notesIn(document, scope).find((each) => each.id === id);
    if (note) run(scope, { type: "setNotes", notes: [{ ...note, ...fields }] });
  };
  return {
    /** Returns the ID of the new note. */
    addNote(at: Point): string {
      const { state, dispatch } = now();
      const scope = scopeAt(at);
      const offset = offsetOf(scope);
      const id = freeNoteId(new Set(allNotes(state.document).map((note) => note.id)));
      const place = { x: snap(at.x - offset.x), y: snap(at.y - offset.y) };
      const path = pathOf(scope);
      if (path !== pathOf(state.scope)) dispatch({ type: "open", scope });
      const note: Note = { id, text: "", ...place, ...SIZE, ...(path !== "" && { scope: path }) };
      run(scope, { type: "setNotes", notes: [note] }, { notes: [id] });
      announce("Sticky note added");
      return id;
    },
    editNote: (id: string, text: string): void => change(id, { text }),
    colorNote: (id: string, color: string): void => change(id, { color }),
    resizeNote(id: string, { x, y, width, height }: Point & typeof SIZE): void {
      // In a nested flow the corner is measured from the group, so only the size changes there.
      const isTop = flow.getNode(viewIdOfNote(id))?.parentId === undefined;
      const size = { width: Math.round(width), height: Math.round(height) };
      change(id, { ...size, ...(isTop && { x: Math.round(x), y: Math.round(y) }) });
    },
  };
}
