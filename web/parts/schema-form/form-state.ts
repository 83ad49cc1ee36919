import { useReducer } from "react";
import type { Change } from "./form-context.ts";
import { formState, isDirty, reduceForm } from "./form-history.ts";

export function useFormState(initial: () => unknown): {
  readonly value: unknown;
  readonly change: Change;
  readonly isDirty: boolean;
  readonly canUndo: boolean;
  readonly undo: () => void;
  readonly reset: () => void;
} {
  const [state, dispatch] = useReducer(reduceForm, undefined, () => formState(initial()));
  return {
    value: state.value,
    change: (path, value) => dispatch({ type: "change", path, value, at: Date.now() }),
    isDirty: isDirty(state),
    canUndo: state.past.length > 0,
    undo: () => dispatch({ type: "undo" }),
    reset: () => dispatch({ type: "reset" }),
  };
}
