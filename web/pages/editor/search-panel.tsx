import { useDeferredValue, useId, useMemo, useState, type JSX } from "react";
import { nodeAt, pathOf } from "../../flow/access.ts";
import type { TextSearch } from "../../flow/document.ts";
import { findText, type TextFound } from "../../flow/search.ts";
import { announce } from "../../parts/announce.tsx";
import { Field } from "../../parts/field.tsx";
import { titleOf } from "./canvas/step-text.ts";
import { useEditor } from "./editor-context.ts";

const SHOWN = 200;
const AROUND = 40;

/** Finds a text in all nodes and notes, nested flows included, and replaces it. */
export function SearchPanel(): JSX.Element {
  const { state, dispatch, isReadOnly } = useEditor();
  const { document } = state;
  const [text, setText] = useState("");
  const [replacement, setReplacement] = useState("");
  const [matchCase, setMatchCase] = useState(false);
  const id = useId();
  const sought = useDeferredValue(text);
  const search = useMemo((): TextSearch => ({ text: sought, matchCase }), [sought, matchCase]);
  const found = useMemo(() => findText(document, search), [document, search]);
  const count = found.reduce((sum, each) => sum + each.count, 0);
  const replace = (places: readonly TextFound[]): void => {
    dispatch({ type: "do", command: { type: "replaceText", search, replacement, places } });
    const replaced = places.reduce((sum, each) => sum + each.count, 0);
    announce(`${replaced} ${replaced === 1 ? "match" : "matches"} replaced`);
  };
  return (
    <>
      <Field label="Search">
        {(control) => (
          <input
            {...control}
            className="input"
            type="search"
            data-search
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <label className="check" htmlFor={`${id}-case`}>
        <input
          id={`${id}-case`}
          type="checkbox"
          checked={matchCase}
          onChange={(event) => setMatchCase(event.target.checked)}
        />
        Match case
      </label>
      {!isReadOnly && (
        <Field label="Replace with">
          {(control) => (
            <input
              {...control}
              className="input"
              value={replacement}
              onChange={(event) => setReplacement(event.target.value)}
            />
          )}
        </Field>
      )}
      <div className="spread">
        <span className="small muted" role="status">
          {sought === ""
            ? "Searches names, notes and configurations."
            : `${count} ${count === 1 ? "match" : "matches"}`}
        </span>
        {!isReadOnly && (
          <button type="button" className="button button-small" disabled={count === 0} onClick={() => replace(found)}>
            Replace all
          </button>
        )}
      </div>
      <ul className="problem-list" aria-label="Matches">
        {found.slice(0, SHOWN).map((each) => (
          <li key={`${each.of} ${pathOf(each.scope, each.id)} ${each.path.join("/")}`}>
            <Match found={each} search={search} onReplace={isReadOnly ? null : () => replace([each])} />
          </li>
        ))}
      </ul>
      {found.length > SHOWN && (
        <p className="small muted">
          Showing the first {SHOWN} of {found.length} texts.
        </p>
      )}
    </>
  );
}

function Match({
  found,
  search,
  onReplace,
}: {
  readonly found: TextFound;
  readonly search: TextSearch;
  readonly onReplace: (() => void) | null;
}): JSX.Element {
  const { state, kindOf, goTo, dispatch } = useEditor();
  const { of, scope, id, path } = found;
  const node = of === "node" ? nodeAt(state.document, scope, id) : undefined;
  const [before, match, after] = around(found.text, search);
  const show = (): void => {
    if (of === "node") return goTo(pathOf(scope, id));
    if (pathOf(scope) !== pathOf(state.scope)) dispatch({ type: "open", scope });
    dispatch({ type: "select", selection: { nodes: [], edges: [], notes: [id] } });
  };
  return (
    <div className="found-row">
      <button type="button" className="found" data-row onClick={show}>
        <span className="small">
          <strong>{node === undefined ? "Sticky note" : titleOf(node, kindOf(node.type))}</strong>{" "}
          <span className="muted">{of === "node" ? `${pathOf(scope, id)} · ${path.join(".")}` : ""}</span>
        </span>
        <code className="wrap">
          {before}
          <mark>{match}</mark>
          {after}
        </code>
      </button>
      {onReplace && (
        <button type="button" className="button button-small" onClick={onReplace}>
          Replace
        </button>
      )}
    </div>
  );
}

/** The first match with a little of the text around it. */
function around(text: string, { text: sought, matchCase = false }: TextSearch): readonly [string, string, string] {
  const at = matchCase ? text.indexOf(sought) : text.toLowerCase().indexOf(sought.toLowerCase());
  if (at === -1) return [text.slice(0, 2 * AROUND), "", ""];
  const end = at + sought.length;
  const start = Math.max(0, at - AROUND);
  return [
    `${start > 0 ? "…" : ""}${text.slice(start, at)}`,
    text.slice(at, end),
    `${text.slice(end, end + AROUND)}${end + AROUND < text.length ? "…" : ""}`,
  ];
}
