import type { Db } from "../db.ts";

/** A browser that uses a page. */
export interface VisitorRow {
  readonly visitor_id: string;
  readonly org_id: string;
  readonly page_id: string;
  readonly created_at: string;
  readonly seen_at: string;
}

export async function insertVisitor(
  db: Db,
  visitor: Pick<VisitorRow, "visitor_id" | "org_id" | "page_id"> & { readonly secret_hash: Buffer },
): Promise<void> {
  await db.query(
    `insert into page_visitors (visitor_id, org_id, page_id, secret_hash, created_at)
      values ($1::uuid, $2::uuid, $3::uuid, $4::bytea, clock_timestamp())`,
    [visitor.visitor_id, visitor.org_id, visitor.page_id, visitor.secret_hash],
  );
}

/** The visitor of a page with this secret; null if there is none. */
export async function findVisitor(db: Db, pageId: string, hash: Buffer): Promise<VisitorRow | null> {
  return db.first(
    `select visitor_id, org_id, page_id, created_at, seen_at from page_visitors
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
  return db.count(
    `delete from page_visitors where visitor_id in (
        select visitor_id from page_visitors where seen_at < now() - make_interval(days => $1::int) limit $2::int)`,
    [days, limit],
  );
}
