/** The order of a list by time of creation; `desc` is newest first. */
export type Direction = "asc" | "desc";

/** What the order adds to the key of a list: nothing for the default one. */
export const keyOfOrder = (order: Direction): readonly Direction[] => (order === "desc" ? [] : [order]);

/** Rows of a list, and whether the list has more rows than were read. */
export interface Rows<Row> {
  readonly data: readonly Row[];
  readonly has_more: boolean;
}

/** Largest page size of the API, and the number of pages read; a longer list is marked as incomplete. */
const LONGEST_PAGE = 200;
const MOST_PAGES = 25;

/** Reads all pages of a list, up to the limit above. */
export async function everyPage<Row>(
  read: (query: {
    readonly page_size: number;
    readonly cursor?: string;
  }) => Promise<Rows<Row> & { readonly cursor: string | null }>,
): Promise<Rows<Row>> {
  const data: Row[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page: Rows<Row> & { readonly cursor: string | null } = await read({
      page_size: LONGEST_PAGE,
      ...(cursor !== null && { cursor }),
    });
    data.push(...page.data);
    cursor = page.cursor;
    if (!page.has_more || cursor === null) return { data, has_more: false };
  }
  return { data, has_more: true };
}
