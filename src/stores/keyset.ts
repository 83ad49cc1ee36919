import type { QueryResultRow } from "pg";
import type { Db } from "./statements.ts";

/** The start and direction of a page of a list. */
export interface Keyset {
  /** The page starts after this ID; null starts at the first row in its direction. */
  readonly beyond: string | null;
  readonly ascending: boolean;
  readonly limit: number;
}

/** Greater than every UUID. An explicit bound, because `$1 is null or id < $1` keeps Postgres from seeking in the index. */
export const LOWEST_ID = "00000000-0000-0000-0000-000000000000";
export const HIGHEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export interface KeysetSql {
  /** The first parameter of the statement. */
  readonly bound: string;
  readonly type: "uuid" | "int";
  /** `<` or `>`, placed between the ID and the bound. */
  readonly compare: "<" | ">";
  readonly order: "asc" | "desc";
}

/** The keyset's part in a list over UUIDs. */
export function keysetSql({ beyond, ascending }: Keyset): KeysetSql {
  return ascending
    ? { bound: beyond ?? LOWEST_ID, type: "uuid", compare: ">", order: "asc" }
    : { bound: beyond ?? HIGHEST_ID, type: "uuid", compare: "<", order: "desc" };
}

/** The greatest number of type `int`. */
const LARGEST = "2147483647";

/** The keyset's part in a list over numbers above `lowest`. */
export function numberKeysetSql(page: Keyset, lowest = 0): KeysetSql {
  const bound = page.beyond ?? (page.ascending ? String(lowest) : LARGEST);
  return { ...keysetSql(page), bound, type: "int" };
}

/**
 * A page of the rows of a statement that ends with a condition, in the order of `key`. `values` are the statement's own parameters;
 * `keysetOf` says what the keys are.
 */
export function selectPage<Row extends QueryResultRow>(
  db: Db,
  page: Keyset,
  key: string,
  select: string,
  values: readonly unknown[] = [],
  keysetOf = keysetSql,
): Promise<Row[]> {
  const { bound, type, compare, order } = keysetOf(page);
  const [at, limit] = [values.length + 1, values.length + 2];
  const text = `${select} and ${key} ${compare} $${at}::${type} order by ${key} ${order} limit $${limit}::int`;
  return db.query(text, [...values, bound, page.limit]);
}
