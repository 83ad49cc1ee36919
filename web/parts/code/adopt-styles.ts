import { EditorView } from "@codemirror/view";

let isDone = false;

/**
 * Makes CodeMirror put its styles into a constructed style sheet, which the content security policy allows, instead of
 * a style element, which it refuses. CodeMirror does so inside a shadow root only; what it keeps there is therefore
 * handed to the document.
 */
export function adoptStyles(): void {
  if (isDone) return;
  isDone = true;
  const root = document.createElement("div").attachShadow({ mode: "open" });
  new EditorView({ root, parent: root }).destroy();
  for (const key of Object.getOwnPropertySymbols(root)) Reflect.set(document, key, Reflect.get(root, key));
}
