import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { removeSome } from "../remove-some.ts";

const ROW = columns("visitor_id uuid, org_id uuid, page_id uuid, created_at timestamptz, seen_at timestamptz");

/** A browser that uses a page. */
export type VisitorRow = RowOf<typeof ROW>;

const NEW = columns("visitor_id uuid, org_id uuid, page_id uuid, secret_hash bytea");

export async function insertVisitor(db: Db, visitor: RowOf<typeof NEW>): Promise<void> {
  await db.query(
    `insert into page_visitors (${NEW.select()}, created_at) values (${NEW.parameters}, clock_timestamp())`,
    NEW.values(visitor),
  );
}

/** The visitor of a page with this secret; null if there is none. */
export async function findVisitor(db: Db, pageId: string, hash: Buffer): Promise<VisitorRow | null> {
  return db.first(
    `select ${ROW.select()} from page_visitors
      where org_id = current_org() and page_id = $1::uuid and secret_hash = $2::bytea`,
    [pageId, hash],
  );
}

/** Records the use of a visitor's handle. */
export async function touchVisitor(db: Db, visitorId: string): Promise<void> {
  await db.query("update page_visitors set seen_at = now() where visitor_id = $1::uuid", [visitorId]);
}

/** Removes up to `limit` visitors whose handles have expired; returns how many. For a purge. */
export async function purgeVisitors(db: Db, days: number, limit: number): Promise<number> {
  return removeSome(db, "page_visitors", "visitor_id", "seen_at < now() - make_interval(days => $1::int)", limit, [
    days,
  ]);
}
