import { setAt } from "./data.ts";

/** The data of a form that keeps its own history; the editor keeps the history of nodes instead. */
export interface FormState {
  readonly initial: unknown;
  readonly value: unknown;
  readonly past: readonly unknown[];
  /** The path of the last change and its time (ms): changes of one field within a second are one step. */
  readonly last: { readonly key: string; readonly at: number } | null;
}

export type FormAction =
  | {
      readonly type: "change";
      readonly path: ReadonlyArray<string | number>;
      readonly value: unknown;
      readonly at: number;
    }
  | { readonly type: "undo" }
  | { readonly type: "reset" };

const GROUP_MS = 1000;
const MAX_STEPS = 200;

export const formState = (initial: unknown): FormState => ({ initial, value: initial, past: [], last: null });

export function reduceForm(state: FormState, action: FormAction): FormState {
  const { value, past, last } = state;
  switch (action.type) {
    case "change": {
      const key = JSON.stringify(action.path);
      const isSame = last !== null && last.key === key && action.at - last.at < GROUP_MS;
      const steps = isSame && past.length > 0 ? past : [...past.slice(1 - MAX_STEPS), value];
      return { ...state, value: setAt(value, action.path, action.value), past: steps, last: { key, at: action.at } };
    }
    case "undo":
      return past.length === 0 ? state : { ...state, value: past.at(-1), past: past.slice(0, -1), last: null };
    case "reset":
      return isDirty(state) ? { ...state, value: state.initial, past: [...past, value], last: null } : state;
  }
}

export const isDirty = ({ initial, value }: FormState): boolean => JSON.stringify(value) !== JSON.stringify(initial);
