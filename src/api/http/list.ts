import { createHash } from "node:crypto";
import { z } from "zod";
import { UUID_PATTERN } from "../../domain/uuid.ts";
import { inPortions } from "../../stores/in-portions.ts";
import type { Keyset } from "../../stores/keyset.ts";
import { Problem } from "../../domain/errors.ts";
import { named } from "./schemas.ts";

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
export function pageOf<Item extends z.ZodType>(item: Item, id = `${item.meta()?.id}Page`) {
  return named(id, {
    data: z.array(item),
    cursor: z
      .string()
      .nullable()
      .describe(
        "Pass this value as `cursor` to get the next page (or the previous one with `direction=prev`). `null` on the last page.",
      ),
    has_more: z.boolean().describe("Whether more items follow in the requested direction."),
  });
}

export interface ListOptions<Row, Item> {
  /** All other filters of the list; undefined ones are ignored. */
  readonly filters?: Readonly<Record<string, unknown>>;
  readonly fetch: Fetch<Row>;
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
) {
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

type Fetch<Row> = (page: Keyset) => Promise<Row[]>;
type From = Pick<Keyset, "beyond" | "ascending">;

async function readWhole<Row>(fetch: Fetch<Row>, from: From, size: number) {
  const rows = await fetch({ ...from, limit: size + 1 });
  return { page: rows.slice(0, size), has_more: rows.length > size };
}

/** Reads a page of long rows, which ends when its rows have PAGE_CHARS. */
async function readLong<Row>(fetch: Fetch<Row>, idOf: (row: Row) => string, from: From, size: number) {
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

/** The position of a page in its list: its first and its last id, in the list's order. */
interface PagePosition {
  readonly first: string;
  readonly last: string;
}

const SHAPE = /^[A-Za-z0-9_-]{1,512}$/;
const HASH_LENGTH = 12;

/** A short digest of a list's filters: a cursor is valid only with the same filters. */
export function hashFilters(filters: Readonly<Record<string, unknown>>): string {
  const members = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return digest(JSON.stringify(members));
}

/** Writes a cursor: opaque to clients, and without secrets. */
export function encodeCursor(position: PagePosition, filtersHash: string): string {
  const payload = `${filtersHash}.${position.first}.${position.last}`;
  return Buffer.from(`${payload}.${digest(payload)}`).toString("base64url");
}

/** Reads a cursor. Throws 400 `invalid_cursor` if Millrace did not write it, 400 `cursor_mismatch` for other filters. */
function decodeCursor(cursor: string, filtersHash: string, isId: (text: string) => boolean): PagePosition {
  const bytes = Buffer.from(SHAPE.test(cursor) ? cursor : "", "base64url");
  // The decoder skips characters that it cannot read, so accept only the exact spelling of a cursor.
  const text = bytes.toString("base64url") === cursor ? bytes.toString("utf8") : "";
  const [hash = "", first = "", last = "", checksum, ...rest] = text.split(".");
  if (rest.length > 0 || checksum !== digest(`${hash}.${first}.${last}`) || !isId(first) || !isId(last)) {
    throw new Problem("invalid_cursor", "The cursor did not come from a list response.");
  }
  if (hash !== filtersHash) {
    throw new Problem(
      "cursor_mismatch",
      "The cursor belongs to a list with different filters or another order. Start without a cursor.",
    );
  }
  return { first, last };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, HASH_LENGTH);
}
