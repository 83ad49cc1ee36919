import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import type { CodeLanguage } from "./languages.ts";
import { FILTERS, placeIn } from "./template-place.ts";

/** A value that can be completed. */
export interface CodeCompletion {
  /** How to write it in the field's language: `http-0.body`, `nodes["http-0"].body`. */
  readonly text: string;
  /** The type of the value, in a word. */
  readonly type?: string | undefined;
  /** The beginning of its last value. */
  readonly last?: string | undefined;
}

/** A value that is put into fields of different languages. */
export interface InsertedValue {
  readonly liquid: string;
  readonly cel: string;
}

/** Most characters before the position that are read. */
const READ_CHARS = 4000;
const PATH: Readonly<Record<"liquid" | "cel", RegExp>> = {
  liquid: /[\w"'[\].-]*$/,
  cel: /[A-Za-z_][\w"'[\].-]*$/,
};

/** Completes the values in scope; in templates only inside braces, or, if asked for, with braces around them. */
export function completionSource(language: CodeLanguage, values: () => readonly CodeCompletion[]) {
  return (context: CompletionContext): CompletionResult | null => {
    if (language !== "liquid" && language !== "cel") return null;
    const { state, pos, explicit } = context;
    const before = state.sliceDoc(Math.max(0, pos - READ_CHARS), pos);
    const place = language === "cel" ? "output" : placeIn(before);
    if (place === "text" && !explicit) return null;
    if (language === "liquid" && place !== "text" && /\|\s*\w*$/.test(before)) return filtersAt(before, pos);
    const typed = PATH[language].exec(before)?.[0] ?? "";
    const isAfterBraces = language === "liquid" && /\{\{-?\s*$/.test(before);
    if (typed === "" && !explicit && !isAfterBraces) return null;
    const from = place === "text" ? pos : pos - typed.length;
    return { from, options: values().map((value) => optionOf(value, language)), validFor: PATH[language] };
  };
}

function filtersAt(before: string, pos: number): CompletionResult {
  const typed = /\w*$/.exec(before)?.[0] ?? "";
  return {
    from: pos - typed.length,
    options: FILTERS.map((label) => ({ label, type: "function" })),
    validFor: /^\w*$/,
  };
}

function optionOf({ text, type, last }: CodeCompletion, language: "liquid" | "cel"): Completion {
  return {
    label: text,
    type: "variable",
    ...(type !== undefined && { detail: type }),
    ...(last !== undefined && { info: last }),
    apply: (view, _, from, to) => insertAt(view, text, language, from, to),
  };
}

/** Writes a value at a position, with the braces that a template needs there. */
function insertAt(view: EditorView, text: string, language: CodeLanguage, from: number, to: number): void {
  const { state } = view;
  let insert = text;
  if (language === "liquid") {
    const before = state.sliceDoc(Math.max(0, from - READ_CHARS), from);
    const after = state.sliceDoc(to, to + READ_CHARS);
    const place = placeIn(before);
    if (place === "text") insert = `{{ ${text} }}`;
    else {
      const isClosed = /^[^{}]*?(\}\}|%\})/.test(after);
      const start = /\{\{-?$/.test(before) ? " " : "";
      insert = `${start}${text}${place === "output" && !isClosed ? " }}" : ""}`;
    }
  }
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    userEvent: "input.complete",
    scrollIntoView: true,
  });
}

/** Puts a value at the selection, in the field's language. */
export function insertValue(view: EditorView, value: InsertedValue, language: CodeLanguage, at?: number): void {
  if (view.state.readOnly) return;
  const { from, to } = at === undefined ? view.state.selection.main : { from: at, to: at };
  insertAt(view, language === "liquid" ? value.liquid : value.cel, language, from, to);
  view.focus();
}
