import { createContext, useContext } from "react";
import type { FlowCheck, FlowProblem, FlowScope, NodeKind } from "../../api/flows.ts";
import type { Action, EditorState, Json, Path } from "../../flow/document.ts";

/** What the last try says about a node. */
export interface ShownValue {
  /** State of the node in the run; null if it has not started. */
  readonly state: string | null;
  readonly value?: Json;
  /** The iteration of the map or loop around it that the value is from, from 0. */
  readonly iteration?: number;
  /** Why the node failed. */
  readonly error?: string | null;
  /** A few words beside the state, such as a duration. */
  readonly note?: string | null;
}

/** Panels beside the canvas. `node` shows the selected node. */
export const PANELS = ["node", "try", "problems", "json", "search", "history", "settings"] as const;
export type Panel = (typeof PANELS)[number];

/** A field that a problem leads to; `at` differs for each time that it is asked for. */
export interface AskedField {
  /** Path of the node: `map-0/tpl-0`. */
  readonly nodePath: string;
  /** Path below the node: `["config", "prompt"]`. */
  readonly path: Path;
  readonly at: number;
}

/** All that the parts of the editor share. */
export interface Editor {
  readonly projectId: string;
  readonly state: EditorState;
  readonly dispatch: (action: Action) => void;
  readonly kinds: readonly NodeKind[];
  readonly kindOf: (type: string) => NodeKind | undefined;
  /** What expressions can read, by the last check; null until there was one. */
  readonly scope: FlowScope | null;
  readonly problems: readonly FlowProblem[];
  readonly check: FlowCheck;
  /** States and values of the last try, by node path. */
  readonly values: ReadonlyMap<string, ShownValue>;
  readonly setValues: (values: ReadonlyMap<string, ShownValue>) => void;
  /** Values that tries use instead of executing a node, by node path. */
  readonly pins: ReadonlyMap<string, Json>;
  readonly setPins: (pins: ReadonlyMap<string, Json>) => void;
  /** Whether nothing can be changed: the user may not, or has locked the canvas. */
  readonly isReadOnly: boolean;
  readonly panel: Panel | null;
  readonly openPanel: (panel: Panel | null) => void;
  /** Selects a node, opens the flow that it is in, and shows it; `path` leads to one of its fields. */
  readonly goTo: (nodePath: string, path?: Path) => void;
  readonly askedField: AskedField | null;
  /** Saves what is not saved yet. False if the draft could not be saved; the page then says why. */
  readonly saveNow: (needsDraft?: boolean) => Promise<boolean>;
}

export const EditorContext = createContext<Editor | null>(null);

export function useEditor(): Editor {
  const editor = useContext(EditorContext);
  if (editor === null) throw new Error("This part belongs into the editor.");
  return editor;
}
