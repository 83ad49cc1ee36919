/** Where a page of a list begins and which way it goes. */
export interface Keyset {
  /** The page begins beyond this id; null: at the end of the list where `ascending` starts. */
  readonly beyond: string | null;
  readonly ascending: boolean;
  readonly limit: number;
}

/** Beyond every UUID there is. An explicit bound, because `$1 is null or id < $1` keeps Postgres from seeking in the index. */
export const LOWEST_ID = "00000000-0000-0000-0000-000000000000";
const HIGHEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export interface KeysetSql {
  /** The first parameter of the statement. */
  readonly bound: string;
  /** `<` or `>`, between the id and the bound. */
  readonly compare: "<" | ">";
  readonly order: "asc" | "desc";
  /** Distinguishes the names of a list's two statements. */
  readonly suffix: "up" | "down";
}

/** What a list over UUIDs needs of a keyset. */
export function keysetSql(page: Keyset): KeysetSql {
  return page.ascending
    ? { bound: page.beyond ?? LOWEST_ID, compare: ">", order: "asc", suffix: "up" }
    : { bound: page.beyond ?? HIGHEST_ID, compare: "<", order: "desc", suffix: "down" };
}
