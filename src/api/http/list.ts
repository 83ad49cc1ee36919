import { z } from "zod";
import { UUID_PATTERN } from "../../domain/uuid.ts";
import { inPortions } from "../../stores/in-portions.ts";
import type { Keyset } from "../../stores/keyset.ts";
import { decodeCursor, encodeCursor, hashFilters } from "./cursor.ts";

/** The query parameters of every list; filters are added by `.extend`. */
export const listQuery = z.object({
  page_size: z.int().min(1).max(200).default(50).describe("Number of items per page."),
  cursor: z.string().min(1).max(512).optional().describe("`cursor` value returned by the previous page of this list."),
  direction: z
    .enum(["next", "prev"])
    .default("next")
    .describe("`next` returns the page after the cursor, `prev` the page before it."),
  order: z.enum(["asc", "desc"]).default("desc").describe("Sort order by creation time."),
});
export type ListQuery = z.infer<typeof listQuery>;

/** The shape of a page of `item`; its name in the document follows the name of `item`. */
export function pageOf<Item extends z.ZodType>(
  item: Item,
  id = `${item.meta()?.id}Page`,
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
        .describe(
          "Pass this value as `cursor` to get the next page (or the previous one with `direction=prev`). `null` on the last page.",
        ),
      has_more: z.boolean().describe("Whether more items follow in the requested direction."),
    })
    .meta({ id });
}

/** The response that contains a page. */
export interface Page<Item> {
  readonly status: 200;
  readonly body: { readonly data: Item[]; readonly cursor: string | null; readonly has_more: boolean };
}

export interface ListOptions<Row, Item> {
  /** All other filters of the list; undefined ones are ignored. */
  readonly filters?: Readonly<Record<string, unknown>>;
  readonly fetch: (page: Keyset) => Promise<Row[]>;
  readonly idOf: (row: Row) => string;
  readonly present: (row: Row) => Item;
  /** What ids look like; default UUIDs. */
  readonly isId?: (text: string) => boolean;
  /** Whether rows may be so long that a page ends before it has `page_size` rows. */
  readonly longRows?: boolean;
}

/** Characters of JSON at which a page of long rows ends. */
const PAGE_CHARS = 8 * 1024 * 1024;

const UUID = new RegExp(`^${UUID_PATTERN}$`);

/**
 * Returns one page of a list; a cursor of a list with another name is not valid in it. It seeks to the cursor's ID, so that page 1000 costs
 * what page 1 costs, and items that are added or deleted meanwhile neither repeat nor hide others. Throws 400 for a bad cursor.
 */
export async function listPage<Row, Item>(
  list: string,
  orgId: string,
  query: ListQuery,
  options: ListOptions<Row, Item>,
): Promise<Page<Item>> {
  const { fetch, idOf, present } = options;
  const hash = hashFilters({ ...options.filters, list, org_id: orgId, order: query.order });
  const from =
    query.cursor === undefined ? null : decodeCursor(query.cursor, hash, options.isId ?? ((text) => UUID.test(text)));
  const back = query.direction === "prev";
  const keyset = { beyond: from && (back ? from.first : from.last), ascending: (query.order === "asc") !== back };
  const { page, has_more } = options.longRows
    ? await readLong(fetch, idOf, keyset, query.page_size)
    : await readWhole(fetch, keyset, query.page_size);
  if (back) page.reverse();
  const [first, last] = [page.at(0), page.at(-1)];
  // When paging back, the page at the start of the list still has a next page.
  const isLast = first === undefined || last === undefined || (!has_more && !back);
  const cursor = isLast ? null : encodeCursor({ first: idOf(first), last: idOf(last) }, hash);
  return { status: 200, body: { data: page.map(present), cursor, has_more } };
}

interface ReadPage<Row> {
  readonly page: Row[];
  readonly has_more: boolean;
}

type From = Pick<Keyset, "beyond" | "ascending">;

async function readWhole<Row>(
  fetch: (page: Keyset) => Promise<Row[]>,
  from: From,
  size: number,
): Promise<ReadPage<Row>> {
  const rows = await fetch({ ...from, limit: size + 1 });
  return { page: rows.slice(0, size), has_more: rows.length > size };
}

/** Reads a page of long rows, which ends when its rows have PAGE_CHARS. */
async function readLong<Row>(
  fetch: (page: Keyset) => Promise<Row[]>,
  idOf: (row: Row) => string,
  from: From,
  size: number,
): Promise<ReadPage<Row>> {
  const page: Row[] = [];
  let room = PAGE_CHARS;
  for await (const { rows, chars } of inPortions(fetch, idOf, from)) {
    page.push(...rows);
    room -= chars;
    if (page.length > size) return { page: page.slice(0, size), has_more: true };
    const last = page.at(-1);
    if (room > 0 || last === undefined) continue;
    const [next] = await fetch({ ...from, beyond: idOf(last), limit: 1 });
    return { page, has_more: next !== undefined };
  }
  return { page, has_more: false };
}
