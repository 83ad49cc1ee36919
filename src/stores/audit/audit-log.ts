import type { AuditActor, AuditOutcome, FieldChanges } from "../../domain/audit/audit.ts";
import { firstIdOf, timeOf } from "../../domain/uuid.ts";
import { columns, type RowOf } from "../columns.ts";
import { plannedAnew, type Db } from "../db.ts";
import { removeSome } from "../remove-some.ts";
import { keysetSql, type Keyset } from "../keyset.ts";

const ROW = columns(`entry_id uuid, org_id uuid, at timestamptz, actor_type text, actor_id uuid null,
  session_id uuid null, address text null, user_agent text null, request_id text null, operation text,
  target_type text null, target_id text null, outcome text, changes jsonb`);

export interface AuditEntry extends AuditActor, Omit<RowOf<typeof ROW>, keyof AuditActor> {
  readonly outcome: AuditOutcome;
  readonly changes: FieldChanges;
}

export type NewAuditEntry = Omit<AuditEntry, "at">;

/** Which entries to list; omitted fields restrict nothing. */
export interface AuditFilter {
  readonly actor_id?: string | undefined;
  /** Entries with any of these targets. */
  readonly target_ids?: readonly string[] | undefined;
  readonly operation?: string | undefined;
  /** RFC 3339; the first is inclusive, the second exclusive. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Writes an entry. Call it in the transaction of the recorded change, so that neither exists without the other. */
export async function insertAuditEntry(db: Db, entry: NewAuditEntry): Promise<void> {
  const at = new Date(timeOf(entry.entry_id)).toISOString();
  await db.query(`insert into audit_log ${ROW.into} on conflict (entry_id) do nothing`, ROW.values({ ...entry, at }));
}

/** A page of the organisation's entries. An entry's time is its id's. */
export async function listAuditEntries(db: Db, filter: AuditFilter, page: Keyset): Promise<AuditEntry[]> {
  const { bound, compare, order } = keysetSql(page);
  const values: unknown[] = [page.limit];
  const add = (value: unknown, type: string): string => `$${values.push(value)}::${type}`;
  const conditions = ["org_id = current_org()", `entry_id ${compare} ${add(bound, "uuid")}`];
  if (filter.actor_id !== undefined) conditions.push(`actor_id = ${add(filter.actor_id, "uuid")}`);
  if (filter.target_ids !== undefined) conditions.push(`target_id = any (${add(filter.target_ids, "text[]")})`);
  if (filter.operation !== undefined) conditions.push(`operation = ${add(filter.operation, "text")}`);
  if (filter.since !== undefined) conditions.push(`entry_id >= ${add(firstIdOf(Date.parse(filter.since)), "uuid")}`);
  if (filter.until !== undefined) conditions.push(`entry_id < ${add(firstIdOf(Date.parse(filter.until)), "uuid")}`);
  return db.query(
    plannedAnew(
      `select ${ROW.select()} from audit_log where ${conditions.join(" and ")} order by entry_id ${order} limit $1::int`,
    ),
    values,
  );
}

/** Removes up to `limit` entries of all organisations that are older than this many days. For a purge. */
export async function purgeAuditEntries(db: Db, days: number, limit: number): Promise<number> {
  return removeSome(db, "audit_log", "entry_id", "at < now() - make_interval(days => $1::int)", limit, [days]);
}
