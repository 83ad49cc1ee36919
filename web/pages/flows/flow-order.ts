import type { Sorting } from "../../parts/list/list-order.ts";
import { latestOf, type Row } from "./flow-table.tsx";
import { byName } from "./folders.ts";

type Key = (row: Row) => string | null;

/** What the columns are sorted by, besides the name. A row without a value comes last. */
const KEYS: Readonly<Record<string, Key>> = {
  draft: (row) => ("folder" in row ? null : (row.flow.activity?.draft?.changed_at ?? null)),
  run: (row) => ("folder" in row ? latestOf(row.folder) : (row.flow.activity?.last_run ?? null))?.created_at ?? null,
};
const NAME = "name";

/** The order that the address asks for: by name unless it says otherwise. */
export function sortingIn(search: URLSearchParams, onChange: Sorting["onChange"]): Sorting {
  const asked = search.get("sort");
  const column = asked !== null && Object.hasOwn(KEYS, asked) ? asked : NAME;
  const first = column === NAME ? "asc" : "desc";
  const order = search.get("order");
  return {
    columns: [NAME, ...Object.keys(KEYS)],
    column,
    value: order === "asc" || order === "desc" ? order : first,
    onChange,
  };
}

/** Compares rows of one kind. The whole list is here, so it can be sorted by what the API does not sort by. */
export function compare({ column, value }: Sorting): (one: Row, other: Row) => number {
  const sign = value === "asc" ? 1 : -1;
  const nameOf = (row: Row): { readonly name: string } => ("folder" in row ? row.folder : row.flow);
  const key = Object.hasOwn(KEYS, column) ? KEYS[column] : undefined;
  return (one, other) => {
    if (key === undefined) return sign * byName(nameOf(one), nameOf(other));
    const [a, b] = [key(one), key(other)];
    if (a === b) return byName(nameOf(one), nameOf(other));
    if (a === null || b === null) return a === null ? 1 : -1;
    return a < b ? -sign : sign;
  };
}
