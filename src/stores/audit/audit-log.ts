import type { AuditActor, AuditOutcome, FieldChanges } from "../../domain/audit/audit.ts";
import { firstIdOf, timeOf } from "../../domain/uuid.ts";
import { columns } from "../columns.ts";
import { plannedAnew } from "../db.ts";
import type { Db } from "../db.ts";
import { keysetSql } from "../keyset.ts";
import type { Keyset } from "../keyset.ts";

export interface NewAuditEntry extends AuditActor {
  readonly entry_id: string;
  readonly operation: string;
  readonly target_type: string | null;
  readonly target_id: string | null;
  readonly outcome: AuditOutcome;
  readonly changes: FieldChanges;
}

export interface AuditEntry extends NewAuditEntry {
  readonly at: string;
}

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

const NEW = columns(`entry_id uuid, org_id uuid, at timestamptz, actor_type text, actor_id uuid, session_id uuid,
  address text, user_agent text, request_id text, operation text, target_type text, target_id text, outcome text,
  changes jsonb`);
const COLUMNS = `entry_id, org_id, at, actor_type, actor_id, session_id, address, user_agent, request_id, operation,
  target_type, target_id, outcome, changes`;

/** Writes an entry. Call it in the transaction of the recorded change, so that neither exists without the other. */
export async function insertAuditEntry(db: Db, entry: NewAuditEntry): Promise<void> {
  const at = new Date(timeOf(entry.entry_id)).toISOString();
  await db.query(`insert into audit_log ${NEW.into} on conflict (entry_id) do nothing`, NEW.values({ ...entry, at }));
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
      `select ${COLUMNS} from audit_log where ${conditions.join(" and ")} order by entry_id ${order} limit $1::int`,
    ),
    values,
  );
}

/** Removes up to `limit` entries of all organisations that are older than this many days. For a purge. */
export async function purgeAuditEntries(db: Db, days: number, limit: number): Promise<number> {
  return db.count(
    `delete from audit_log where entry_id in (
      select entry_id from audit_log where at < now() - make_interval(days => $1::int) limit $2::int)`,
    [days, limit],
  );
}
