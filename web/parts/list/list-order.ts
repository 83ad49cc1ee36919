export type Direction = "asc" | "desc";

/** The order in which the API returns a list, by the column with this ID. */
export interface Order {
  readonly column: string;
  readonly value: Direction;
  readonly onChange: (value: Direction) => void;
}

/** The order of a list that can be sorted by several columns. */
export interface Sorting {
  readonly columns: readonly string[];
  /** The column by which the list is sorted. */
  readonly column: string;
  readonly value: Direction;
  readonly onChange: (column: string, value: Direction) => void;
}
