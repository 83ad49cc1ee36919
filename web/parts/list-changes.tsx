import { useEffect, useRef, useState, type JSX } from "react";
import { announce } from "./announce.tsx";
import "./list-changes.css";

/** Notice above a newest-first list: how many newer rows exist, with a button to show them. */
export function NewerNotice<Row>({
  newest,
  top,
  idOf,
  words,
  isReading,
  onShow,
}: {
  /** The newest rows on the server; the list may already have some of them. */
  readonly newest: { readonly data: readonly Row[]; readonly has_more: boolean } | undefined;
  /** ID of the first row of the list; IDs are in order of creation. Undefined until the list has been read. */
  readonly top: string | undefined;
  readonly idOf: (row: Row) => string;
  readonly words: readonly [one: string, several: string];
  readonly isReading: boolean;
  readonly onShow: () => void;
}): JSX.Element | null {
  const count = top === undefined ? 0 : (newest?.data ?? []).filter((row) => idOf(row) > top).length;
  const isAtLeast = newest?.has_more === true && count === newest.data.length;
  const text = `${count}${isAtLeast ? "+" : ""} new ${count === 1 ? words[0] : words[1]}`;
  return <Waiting text={count === 0 ? null : text} action="Show" isReading={isReading} onShow={onShow} />;
}

/**
 * Pending changes of a list. Rendered in the existing `list-line`, so that the layout does not shift and the notice
 * stays visible. Showing the changes moves the focus to the first row.
 */
function Waiting({
  text,
  action,
  isReading,
  onShow,
}: {
  /** null renders nothing. */
  readonly text: string | null;
  readonly action: string;
  readonly isReading: boolean;
  readonly onShow: () => void;
}): JSX.Element {
  const notice = useRef<HTMLDivElement>(null);
  const isAsked = useRef(false);
  useEffect(() => {
    if (!isAsked.current) return;
    isAsked.current = false;
    // The rows are now drawn, and the button that had the focus is gone.
    notice.current?.closest("[data-list]")?.querySelector<HTMLElement>("[data-row]")?.focus();
  }, [text]);
  const show = (): void => {
    isAsked.current = true;
    onShow();
  };
  return (
    <div className="list-waiting" role="status" ref={notice}>
      {text !== null && (
        <span className="notice">
          <span>{text}</span>
          <button type="button" className="button button-small" disabled={isReading} onClick={show}>
            {action}
          </button>
        </span>
      )}
    </div>
  );
}

/** A row of a list that keeps its order, and whether the server has deleted it. */
export interface HeldRow<Row> {
  readonly row: Row;
  readonly isGone: boolean;
}

/**
 * Holds the rows of a polled list in place and updates their contents, until the user asks for the changes. A new
 * `name` means another list, which starts with its current rows; an empty list shows new rows immediately.
 */
export function useHeldList<Row>(
  name: string,
  rows: readonly Row[] | undefined,
  idOf: (row: Row) => string,
): {
  readonly shown: ReadonlyArray<HeldRow<Row>>;
  readonly newer: number;
  readonly gone: number;
  readonly takeIn: () => void;
} {
  const [held, setHeld] = useState<{ readonly name: string; readonly rows: readonly Row[] } | null>(null);
  const isOther = held?.name !== name;
  if (rows !== undefined && (isOther || (rows.length === 0) !== (held.rows.length === 0))) setHeld({ name, rows });
  const kept = (isOther ? rows : held.rows) ?? [];
  const now = new Map(rows?.map((row) => [idOf(row), row]));
  const shown = kept.map((row) => ({
    row: now.get(idOf(row)) ?? row,
    isGone: rows !== undefined && !now.has(idOf(row)),
  }));
  const known = new Set(kept.map(idOf));
  return {
    shown,
    newer: (rows ?? []).filter((row) => !known.has(idOf(row))).length,
    gone: shown.filter(({ isGone }) => isGone).length,
    takeIn: () => rows !== undefined && setHeld({ name, rows }),
  };
}

/** Shows and announces what has changed in a held list, with a button that applies it. */
export function HeldChanges({
  newer,
  gone,
  onShow,
}: {
  readonly newer: number;
  readonly gone: number;
  readonly onShow: () => void;
}): JSX.Element {
  const parts = [newer > 0 ? `${newer} new` : "", gone > 0 ? `${gone} removed` : ""].filter((part) => part !== "");
  return (
    <Waiting
      text={parts.length === 0 ? null : parts.join(", ")}
      action={newer > 0 ? "Show" : "Update"}
      isReading={false}
      onShow={onShow}
    />
  );
}

/** Announces rows that were added to or removed from a list while it was shown. A new `name` means another list. */
export function ListChanges({
  name,
  ids,
}: {
  readonly name: string;
  readonly ids: readonly string[] | undefined;
}): JSX.Element {
  const [known, setKnown] = useState({ name, ids, text: "" });
  if (known.name !== name || known.ids === undefined) {
    if (known.name !== name || ids !== undefined) setKnown({ name, ids, text: "" });
  } else if (ids !== undefined && ids.join() !== known.ids.join()) {
    const [before, after] = [new Set(known.ids), new Set(ids)];
    const came = ids.filter((id) => !before.has(id)).length;
    const went = known.ids.filter((id) => !after.has(id)).length;
    const parts = [came > 0 ? `${came} added` : "", went > 0 ? `${went} removed` : ""].filter((part) => part !== "");
    setKnown({ name, ids, text: parts.length === 0 ? known.text : `Updated: ${parts.join(", ")}.` });
  }
  const { text } = known;
  useEffect(() => {
    if (text !== "") announce(text);
  }, [text, known.ids]);
  return <>{text !== "" && <span className="small muted">{text}</span>}</>;
}
