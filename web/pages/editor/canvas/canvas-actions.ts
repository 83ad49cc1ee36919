import { createContext } from "react";
import type { Point, Size } from "../../../flow/document.ts";

/** What buttons on nodes do. Not part of the nodes' data, which would then change with every render. */
export const CanvasActions = createContext<{
  /** Shows or hides the flow of a map or loop in place. */
  readonly toggle: (path: string) => void;
  /** Opens the flow of a map or loop as a page. */
  readonly enter: (path: string) => void;
  readonly editNote: (id: string, text: string) => void;
  readonly resizeNote: (id: string, box: Point & Size) => void;
  readonly colorNote: (id: string, color: string) => void;
  readonly isReadOnly: boolean;
  /** ID of the sticky note whose text is being written. */
  readonly editing: string | null;
  readonly setEditing: (id: string | null) => void;
}>({
  toggle: () => undefined,
  enter: () => undefined,
  editNote: () => undefined,
  resizeNote: () => undefined,
  colorNote: () => undefined,
  isReadOnly: true,
  editing: null,
  setEditing: () => undefined,
});
