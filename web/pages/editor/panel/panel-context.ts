import { createContext, useContext } from "react";
import type { InsertedValue } from "../../../parts/code/completion.ts";
import type { PreviewValues } from "./preview-values.ts";
import type { ValueNode } from "./scope-values.ts";

/** What the parts of the form of one node share. */
export interface NodeForm {
  readonly nodePath: string;
  readonly config: unknown;
  readonly isReadOnly: boolean;
  /** What the node's expressions can read. */
  readonly seen: readonly ValueNode[];
  readonly preview: PreviewValues;
  /** The field that had the focus last takes values from the picker. */
  readonly setTarget: (insert: (value: InsertedValue) => void) => void;
}

export const NodeFormContext = createContext<NodeForm | null>(null);

export function useNodeForm(): NodeForm {
  const form = useContext(NodeFormContext);
  if (form === null) throw new Error("This part belongs into the form of a node.");
  return form;
}
