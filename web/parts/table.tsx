import { useEffect, useRef, useState, type JSX, type ReactNode } from "react";
import "./table.css";

export interface Column<Row> {
  readonly id: string;
  readonly head: string;
  /** Shown as the head instead of its name. */
  readonly headCell?: ReactNode;
  /** Set on the column by which the rows are ordered. */
  readonly sorted?: "ascending" | "descending";
  /** The order that the column begins with when it is chosen; newest or largest first by default. */
  readonly firstOrder?: "asc" | "desc";
  readonly cell: (row: Row) => ReactNode;
  readonly number?: boolean;
  /** Hidden in a narrow table, as on a phone. */
  readonly wideOnly?: boolean;
  /** Hidden unless the table is wide, so not on a tablet. */
  readonly widestOnly?: boolean;
  /** Whether users can hide the column, and its default; see useColumns. */
  readonly choice?: "shown" | "hidden";
}

/** Rows that are drawn together. A table of more than two such chunks draws only those near the window. */
const CHUNK = 50;
/** Estimated height of a row that has not been drawn yet (pixels). */
const ROW_HEIGHT = 41;
/** How far from the window rows are drawn. */
const MARGIN = "1000px 0px";

/**
 * A list as a table. Links and buttons that open or change a row carry `data-row`; `j` and `k` move between them,
 * across all lists of the page. The table scrolls sideways inside its region, so that the page never does.
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
  /** Smaller rows, for long lists. */
  readonly dense?: boolean;
  /** Without a panel, for use inside another one. */
  readonly isBare?: boolean;
}): JSX.Element {
  const classOf = ({ number, wideOnly, widestOnly }: Column<Row>): string =>
    `${number === true ? "number" : ""} ${wideOnly === true ? "wide-only" : ""} ${widestOnly === true ? "widest-only" : ""}`;
  const isLong = rows.length > 2 * CHUNK;
  const draw = (from: number, to: number): JSX.Element[] =>
    rows.slice(from, to).map((row, at) => (
      <tr key={keyOf(row)} {...(isLong && { "aria-rowindex": from + at + 2 })}>
        {columns.map((column) => (
          <td key={column.id} className={classOf(column)}>
            {column.cell(row)}
          </td>
        ))}
      </tr>
    ));
  const chunks = Array.from({ length: Math.ceil(rows.length / CHUNK) }, (_, at) => at * CHUNK);
  const table = (
    <div className="table-scroll" role="region" aria-label={caption} tabIndex={0}>
      <table className={`table ${dense ? "table-dense" : ""}`} {...(isLong && { "aria-rowcount": rows.length + 1 })}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" className={classOf(column)} aria-sort={column.sorted}>
                {column.headCell ?? column.head}
              </th>
            ))}
          </tr>
        </thead>
        {isLong ? (
          chunks.map((from) => (
            <Chunk key={from} isDrawn={from === 0} rows={Math.min(CHUNK, rows.length - from)} columns={columns.length}>
              {() => draw(from, from + CHUNK)}
            </Chunk>
          ))
        ) : (
          <tbody>{draw(0, rows.length)}</tbody>
        )}
      </table>
    </div>
  );
  return isBare ? table : <div className="panel panel-flush">{table}</div>;
}

/** Rows of a long table; while they are far from the window, an empty row of their height stands for them. */
function Chunk({
  isDrawn,
  rows,
  columns,
  children,
}: {
  /** Whether the rows are drawn at first. */
  readonly isDrawn: boolean;
  readonly rows: number;
  readonly columns: number;
  readonly children: () => ReactNode;
}): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const [gap, setGap] = useState(isDrawn ? null : rows * ROW_HEIGHT);
  useEffect(() => {
    const { current } = body;
    if (!current) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        const last = entries.at(-1);
        if (last?.isIntersecting === true) setGap(null);
        // The row with the focus stays, so that j and k continue from it.
        else if (last && !current.contains(document.activeElement)) setGap(last.boundingClientRect.height);
      },
      { rootMargin: MARGIN },
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return (
    <tbody ref={body}>
      {gap === null ? (
        children()
      ) : (
        <tr aria-hidden="true">
          <td className="table-gap muted" colSpan={columns} style={{ height: gap }}>
            …
          </td>
        </tr>
      )}
    </tbody>
  );
}
