import { z } from "zod";
import { UUID_PATTERN } from "../../domain/uuid.ts";
import type { Keyset } from "../../stores/keyset.ts";
import { decodeCursor, encodeCursor, hashFilters } from "./cursor.ts";

/** The query members of every list; filters are added by `.extend`. */
export const listQuery = z.object({
  page_size: z.int().min(1).max(200).default(50).describe("Items on a page."),
  cursor: z.string().min(1).max(512).optional().describe("The `cursor` of an earlier page of the same list."),
  direction: z
    .enum(["next", "prev"])
    .default("next")
    .describe("Whether to go on from the cursor's page, or back from it."),
  order: z.enum(["asc", "desc"]).default("desc").describe("By creation."),
});
export type ListQuery = z.infer<typeof listQuery>;

/** The shape of a page of `item`. */
export function pageOf<Item extends z.ZodType>(
  item: Item,
  id: string,
): z.ZodObject<{
  data: z.ZodArray<Item>;
  cursor: z.ZodNullable<z.ZodString>;
  has_more: z.ZodBoolean;
}> {
  return z
    .object({
      data: z.array(item),
      cursor: z
        .string()
        .nullable()
        .describe("To pass on for the next page (or, with `direction=prev`, the one before); null on the last page."),
      has_more: z.boolean().describe("Whether there is more in the direction that was asked for."),
    })
    .meta({ id });
}

/** The answer that is a page. */
export interface Page<Item> {
  readonly status: 200;
  readonly body: { readonly data: Item[]; readonly cursor: string | null; readonly has_more: boolean };
}

export interface ListOptions<Row, Item> {
  /** The name of the list: a cursor of one list is not valid in another. */
  readonly list: string;
  readonly orgId: string;
  readonly query: ListQuery;
  /** All other filters of the list; undefined members do not count. */
  readonly filters?: Readonly<Record<string, unknown>>;
  readonly fetch: (page: Keyset) => Promise<Row[]>;
  readonly idOf: (row: Row) => string;
  readonly present: (row: Row) => Item;
  /** What ids look like; default UUIDs. */
  readonly isId?: (text: string) => boolean;
}

const UUID = new RegExp(`^${UUID_PATTERN}$`);

/**
 * Answers one page of a list. It seeks to the cursor's id, so that page 1000 costs what page 1 costs, and items that come
 * or go in the meantime neither repeat nor hide others. Throws 400 for a bad cursor.
 */
export async function listPage<Row, Item>(options: ListOptions<Row, Item>): Promise<Page<Item>> {
  const { query, fetch, idOf, present } = options;
  const hash = hashFilters({ ...options.filters, list: options.list, org_id: options.orgId, order: query.order });
  const from =
    query.cursor === undefined ? null : decodeCursor(query.cursor, hash, options.isId ?? ((text) => UUID.test(text)));
  const back = query.direction === "prev";
  const rows = await fetch({
    beyond: from && (back ? from.first : from.last),
    ascending: (query.order === "asc") !== back,
    limit: query.page_size + 1,
  });
  const page = rows.slice(0, query.page_size);
  if (back) page.reverse();
  const [first, last] = [page.at(0), page.at(-1)];
  const has_more = rows.length > query.page_size;
  // When going back, a page at the beginning has another one after it.
  const isLast = first === undefined || last === undefined || (!has_more && !back);
  const cursor = isLast ? null : encodeCursor({ first: idOf(first), last: idOf(last) }, hash);
  return { status: 200, body: { data: page.map(present), cursor, has_more } };
}
