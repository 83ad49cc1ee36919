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
  /** `<` or `>`, placed between the ID and the bound. */
  readonly compare: "<" | ">";
  readonly order: "asc" | "desc";
}

/** The keyset's part in a list over UUIDs. */
export function keysetSql(page: Keyset): KeysetSql {
  return page.ascending
    ? { bound: page.beyond ?? LOWEST_ID, compare: ">", order: "asc" }
    : { bound: page.beyond ?? HIGHEST_ID, compare: "<", order: "desc" };
}

/** The greatest number of type `int`. */
const LARGEST = 2_147_483_647;

/** The keyset's part in a list over numbers above `lowest`. */
export function numberKeysetSql(page: Keyset, lowest = 0): Omit<KeysetSql, "bound"> & { readonly bound: number } {
  const { compare, order } = keysetSql(page);
  return { bound: Number(page.beyond ?? (page.ascending ? lowest : LARGEST)), compare, order };
}
