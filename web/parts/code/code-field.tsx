import { autocompletion, closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history as ownHistory, historyKeymap } from "@codemirror/commands";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { Annotation, Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder as emptyText,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { useEffect, useLayoutEffect, useRef, type CSSProperties, type JSX } from "react";
import { INVISIBLE } from "../../../src/domain/marks.ts";
import { adoptStyles } from "./adopt-styles.ts";
import { completionSource, insertValue, type CodeCompletion, type InsertedValue } from "./completion.ts";
import { languageOf, type CodeLanguage } from "./languages.ts";
import { VALUE_TYPE } from "./value-type.ts";
import "./code.css";

/** Something that is wrong with the text. Without a line, all of it is underlined. */
export interface CodeProblem {
  readonly message: string;
  readonly severity: "error" | "warning";
  /** From 1. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

export interface CodeFieldProps {
  readonly language: CodeLanguage;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly label: string;
  /** IDs of the elements that describe the field. */
  readonly describedBy?: string | undefined;
  readonly isInvalid?: boolean;
  readonly completions?: readonly CodeCompletion[];
  readonly problems?: readonly CodeProblem[];
  readonly readOnly?: boolean;
  readonly minLines?: number;
  readonly placeholder?: string | undefined;
  readonly hasLineNumbers?: boolean;
  /**
   * `outside`: the page undoes changes of the value, so the field keeps no history of its own, and undo keys are left to
   * the page.
   */
  readonly history?: "own" | "outside";
  /** Called when the field gets the focus, with a function that puts a value at its cursor. */
  readonly onFocus?: (insert: (value: InsertedValue) => void) => void;
}

const fromOutside = Annotation.define<boolean>();
const NONE: readonly never[] = [];

/** A text in a language: highlighted, with completion and underlined problems. Tab leaves the field. */
export function CodeField(props: CodeFieldProps): JSX.Element {
  const { language, value, minLines = 1, problems = NONE, readOnly = false, isInvalid = false } = props;
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const live = useRef(props);
  const looks = useRef(new Compartment());
  useLayoutEffect(() => {
    live.current = props;
  });

  useLayoutEffect(() => {
    if (place.current === null) return;
    adoptStyles();
    const grammar = new Compartment();
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: live.current.value,
        extensions: [grammar.of([]), looks.current.of(looksOf(live.current)), ...extensionsFor(language, live)],
      }),
    });
    view.current = made;
    void languageOf(language).then((support) => made.dispatch({ effects: grammar.reconfigure(support) }));
    return () => {
      view.current = null;
      made.destroy();
    };
  }, [language]);

  useEffect(() => replaceText(view.current, value), [value, language]);
  useEffect(() => {
    view.current?.dispatch({ effects: looks.current.reconfigure(looksOf(live.current)) });
  }, [props.label, props.describedBy, isInvalid, readOnly, props.placeholder, language]);
  const marked = JSON.stringify(problems);
  useEffect(() => {
    const current = view.current;
    if (current === null) return;
    const diagnostics = (live.current.problems ?? NONE).map((problem) => diagnosticOf(problem, current.state));
    current.dispatch(setDiagnostics(current.state, diagnostics));
  }, [marked, value, language]);

  return (
    <div
      ref={place}
      className={`code-field ${isInvalid ? "code-field-invalid" : ""}`}
      style={{ "--code-lines": minLines } as CSSProperties}
    />
  );
}

/** The parts of the editor that props change. */
function looksOf({ label, describedBy, isInvalid = false, readOnly = false, placeholder }: CodeFieldProps): Extension {
  return [
    EditorView.contentAttributes.of({
      "aria-label": label,
      ...(describedBy !== undefined && { "aria-describedby": describedBy }),
      ...(isInvalid && { "aria-invalid": "true" }),
      ...(readOnly && { "aria-readonly": "true" }),
      spellcheck: "false",
      autocapitalize: "off",
    }),
    EditorState.readOnly.of(readOnly),
    placeholder === undefined ? [] : emptyText(placeholder),
  ];
}

function extensionsFor(language: CodeLanguage, live: { readonly current: CodeFieldProps }): Extension[] {
  const { history = "own", hasLineNumbers = language === "javascript" } = live.current;
  return [
    history === "own" ? [ownHistory(), keymap.of(historyKeymap)] : [],
    hasLineNumbers ? lineNumbers() : [],
    drawSelection(),
    highlightSpecialChars({ addSpecialChars: INVISIBLE }),
    EditorView.lineWrapping,
    bracketMatching(),
    language === "liquid" ? [] : [closeBrackets(), keymap.of(closeBracketsKeymap)],
    syntaxHighlighting(classHighlighter),
    autocompletion({
      override: [completionSource(language, () => live.current.completions ?? NONE)],
      icons: false,
      maxRenderedOptions: 100,
      // Within an expression Enter hardly ever means a new line, however quickly it follows the list.
      interactionDelay: 0,
    }),
    // Enter accepts a completion. Tab is not bound: it leaves the field, as everywhere on the page.
    keymap.of(defaultKeymap.filter(({ key }) => key !== "Mod-Enter")),
    EditorView.updateListener.of((update) => {
      const isTyped = update.docChanged && !update.transactions.some((each) => each.annotation(fromOutside) === true);
      if (isTyped) live.current.onChange(update.state.doc.toString());
      if (update.focusChanged && update.view.hasFocus)
        live.current.onFocus?.((given) => insertValue(update.view, given, language));
    }),
    EditorView.domEventHandlers({
      beforeinput: (event, view) =>
        history === "outside" && /^history(Undo|Redo)$/.test(event.inputType) ? prevent(event) : typedOver(event, view),
      drop: (event, view) => dropped(event, view, language),
    }),
  ];
}

function prevent(event: Event): true {
  event.preventDefault();
  return true;
}

/** Types over several lines as a change of the text: the browser would join the lines with style attributes, which the page's policy forbids. */
function typedOver(event: InputEvent, view: EditorView): boolean {
  const { state } = view;
  const { data } = event;
  const selected = document.getSelection();
  if (event.inputType !== "insertText" || data === null || !selected || selected.rangeCount === 0) return false;
  if (view.composing || state.readOnly) return false;
  // What the browser replaces: the editor may not know the newest selection yet.
  const range = selected.getRangeAt(0);
  if (!view.contentDOM.contains(range.commonAncestorContainer)) return false;
  const from = view.posAtDOM(range.startContainer, range.startOffset);
  const to = view.posAtDOM(range.endContainer, range.endOffset);
  if (state.doc.lineAt(from).to >= to) return false;
  const text = state.toText(data);
  const changes = { from, to, insert: text };
  const insert = () => state.update({ changes, selection: { anchor: from + text.length }, userEvent: "input.type" });
  const isHandled = state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, data, insert));
  if (!isHandled) view.dispatch(insert());
  return prevent(event);
}

/** Puts a dragged value where it is dropped; any other text is dropped as text. */
function dropped(event: DragEvent, view: EditorView, language: CodeLanguage): boolean {
  const text = event.dataTransfer?.getData(VALUE_TYPE) ?? "";
  if (text === "" || view.state.readOnly) return false;
  const at = view.posAtCoords({ x: event.clientX, y: event.clientY }) ?? view.state.doc.length;
  insertValue(view, JSON.parse(text) as InsertedValue, language, at);
  return prevent(event);
}

/** Follows a value that was changed elsewhere, such as by undo; only what differs is replaced, so that the cursor stays. */
function replaceText(view: EditorView | null, value: string): void {
  const current = view?.state.doc.toString();
  if (view === null || current === undefined || current === value) return;
  let start = 0;
  while (start < Math.min(current.length, value.length) && current[start] === value[start]) start += 1;
  let end = 0;
  const most = Math.min(current.length, value.length) - start;
  while (end < most && current.at(-1 - end) === value.at(-1 - end)) end += 1;
  view.dispatch({
    changes: { from: start, to: current.length - end, insert: value.slice(start, value.length - end) },
    annotations: fromOutside.of(true),
  });
}

function diagnosticOf({ message, severity, line, column }: CodeProblem, state: EditorState): Diagnostic {
  if (line === undefined || line < 1 || line > state.doc.lines)
    return { from: 0, to: state.doc.length, message, severity };
  const { from, to, length } = state.doc.line(line);
  const at = column === undefined ? from : from + Math.min(Math.max(column - 1, 0), Math.max(length - 1, 0));
  return { from: at, to: Math.max(to, at), message, severity };
}
