import { useEffect, useRef } from "react";
import type { JSX, ReactNode } from "react";
import "./table.css";

export interface Column<Row> {
  readonly id: string;
  readonly head: string;
  readonly cell: (row: Row) => ReactNode;
  readonly number?: boolean;
  /** Left out where the table is narrow, as on a phone. */
  readonly wideOnly?: boolean;
  /** Left out where the table has less room than on a large screen, as on a tablet. */
  readonly widestOnly?: boolean;
  /** Whether it can be left out, and how the list begins: see useColumns. */
  readonly choice?: "shown" | "hidden";
}

/**
 * A list as a table. What opens a row, or acts on it, carries `data-row`: `j` and `k` go from one to the next, over all lists of the page.
 * Only the region scrolls, so that the page never does sideways.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  dense = false,
  isBare = false,
}: {
  readonly caption: string;
  readonly columns: ReadonlyArray<Column<Row>>;
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** For long lists: more rows at a time. */
  readonly dense?: boolean;
  /** Without a panel of its own: it stands in one. */
  readonly isBare?: boolean;
}): JSX.Element {
  const classOf = ({ number, wideOnly, widestOnly }: Column<Row>): string =>
    `${number === true ? "number" : ""} ${wideOnly === true ? "wide-only" : ""} ${widestOnly === true ? "widest-only" : ""}`;
  const table = (
    <div className="table-scroll" role="region" aria-label={caption} tabIndex={0}>
      <table className={`table ${dense ? "table-dense" : ""}`}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" className={classOf(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.id} className={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
  return isBare ? table : <div className="panel panel-flush">{table}</div>;
}

/** `j` and `k` go from row to row below the element that takes the reference: of a page with several lists through all of them. */
export function useRowKeys<E extends HTMLElement>(): React.RefObject<E | null> {
  const body = useRef<E>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const step = event.key === "j" ? 1 : event.key === "k" ? -1 : 0;
      if (step === 0) return;
      const all = body.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [];
      const links = [...all].filter((link) => link.checkVisibility());
      const { activeElement } = document;
      const own = links.findIndex((link) => link === activeElement);
      // Also from what else is in a row, such as the button that copies an id.
      const at = own === -1 ? links.findIndex((link) => link.closest("tr")?.contains(activeElement)) : own;
      const next = links[at === -1 ? 0 : Math.min(Math.max(at + step, 0), links.length - 1)];
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return body;
}

/** Whether a key goes into a text and is no shortcut. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, dialog, [contenteditable]") !== null;
}
