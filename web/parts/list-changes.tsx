import { useEffect, useState } from "react";
import type { JSX } from "react";
import { announce } from "./announce.tsx";
import { Notice } from "./states.tsx";

/** Says above a list, newest first, that there are newer ones than it has, and shows them when that is asked for. */
export function NewerNotice<Row>({
  newest,
  top,
  idOf,
  words: [one, several],
  isReading,
  onShow,
}: {
  /** The newest ones there are; the list has some of them. */
  readonly newest: { readonly data: readonly Row[]; readonly has_more: boolean } | undefined;
  /** The id of the list's first; ids are in the order of creation. Undefined where the list has not been read. */
  readonly top: string | undefined;
  readonly idOf: (row: Row) => string;
  readonly words: readonly [one: string, several: string];
  readonly isReading: boolean;
  readonly onShow: () => void;
}): JSX.Element | null {
  if (newest === undefined || top === undefined) return null;
  const count = newest.data.filter((row) => idOf(row) > top).length;
  if (count === 0) return null;
  const hasMore = newest.has_more && count === newest.data.length;
  return (
    <Notice tone="info">
      <span>
        {count}
        {hasMore && "+"} newer {count === 1 ? one : several}
      </span>
      <button type="button" className="button button-small" disabled={isReading} onClick={onShow}>
        Show
      </button>
    </Notice>
  );
}

/** Says what came to a list and what went from it while it was looked at; announced too. `name` is another for another list. */
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
    const parts = [came > 0 ? `${came} more` : "", went > 0 ? `${went} gone` : ""].filter((part) => part !== "");
    setKnown({ name, ids, text: parts.length === 0 ? known.text : `Just now: ${parts.join(", ")}.` });
  }
  const { text } = known;
  useEffect(() => {
    if (text !== "") announce(text);
  }, [text, known.ids]);
  return <>{text !== "" && <p className="small muted">{text}</p>}</>;
}
