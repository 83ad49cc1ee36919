import type { JSX, ReactNode } from "react";
import { useColumns } from "../columns.tsx";
import { Icon } from "../icons.tsx";
import { Table, type Column } from "../table.tsx";
import type { Order, Sorting } from "./list-order.ts";
import { Rows, type RowsProps } from "./rows.tsx";

interface Selection<Row> {
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
  /** Names a row in the label of its checkbox. */
  readonly nameOf: (row: Row) => string;
  /** The largest number of rows that can be chosen. */
  readonly most: number;
}

/**
 * A list of the API as a table: what shows while it loads, fails, is empty or matches no filter, its line of filters
 * and notices, the choice of columns, the order, the selection, and the next page.
 */
export function List<Row>({
  caption,
  columns,
  keyOf,
  dense = false,
  line,
  order,
  sorting = order && sortingOf(order),
  selection,
  ...list
}: RowsProps<Row> & {
  readonly caption: string;
  readonly columns: ReadonlyArray<Column<Row>>;
  readonly keyOf: (row: Row) => string;
  readonly dense?: boolean;
  /** Filters and notices above the list, which stay in sight. */
  readonly line?: ReactNode;
  readonly order?: Order;
  /** Instead of an order by one column. */
  readonly sorting?: Sorting | undefined;
  readonly selection?: Selection<Row>;
}): JSX.Element {
  const { shown, chooser } = useColumns(list.items, columns);
  const hasChoice = columns.some(({ choice }) => choice !== undefined);
  return (
    <div className="stack-tight" data-list>
      {(line !== undefined || hasChoice) && (
        <div className="list-line">
          {line}
          {hasChoice && chooser}
        </div>
      )}
      <Rows {...list}>
        {(rows) => (
          <Table
            caption={caption}
            columns={[
              ...(selection ? [selectColumn(rows, keyOf, selection)] : []),
              ...shown.map((column) =>
                sorting?.columns.includes(column.id) === true ? sortable(column, sorting) : column,
              ),
            ]}
            rows={rows}
            keyOf={keyOf}
            dense={dense}
            isBare={list.isBare === true}
          />
        )}
      </Rows>
    </div>
  );
}

const sortingOf = ({ column, value, onChange }: Order): Sorting => ({
  columns: [column],
  column,
  value,
  onChange: (_, next) => onChange(next),
});

function sortable<Row>(column: Column<Row>, { column: by, value, onChange }: Sorting): Column<Row> {
  const isSorted = column.id === by;
  // Another column starts with the newest, or at the beginning of the alphabet.
  const next = isSorted ? (value === "asc" ? "desc" : "asc") : (column.firstOrder ?? "desc");
  return {
    ...column,
    ...(isSorted && { sorted: value === "asc" ? ("ascending" as const) : ("descending" as const) }),
    headCell: (
      <button type="button" className="table-sort" onClick={() => onChange(column.id, next)}>
        {column.head} {isSorted && <Icon name="chevron" className={`table-${value}`} />}
      </button>
    ),
  };
}

function selectColumn<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  { chosen, onChange, nameOf, most }: Selection<Row>,
): Column<Row> {
  const able = rows.slice(0, most).map(keyOf);
  const isAll = able.every((key) => chosen.has(key));
  return {
    id: "select",
    head: "Select",
    // On a phone the rows need the room.
    wideOnly: true,
    headCell: (
      <label className="table-check">
        <input
          type="checkbox"
          aria-label={`Select ${able.length < rows.length ? "the first" : "all"} ${able.length.toLocaleString()}`}
          checked={isAll}
          ref={(box) => {
            if (box) box.indeterminate = !isAll && chosen.size > 0;
          }}
          onChange={() => onChange(new Set(isAll ? [] : able))}
        />
      </label>
    ),
    cell: (row) => {
      const key = keyOf(row);
      const isChosen = chosen.has(key);
      return (
        <label className="table-check">
          <input
            type="checkbox"
            aria-label={`Select ${nameOf(row)}`}
            checked={isChosen}
            disabled={!isChosen && chosen.size >= most}
            onChange={() => onChange(new Set(isChosen ? [...chosen].filter((each) => each !== key) : [...chosen, key]))}
          />
        </label>
      );
    },
  };
}
