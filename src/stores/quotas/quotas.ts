import { uuidv7 } from "uuidv7";
import { periodOf, type Quota, type QuotaLimits, type Spending } from "../../domain/accounts/quotas.ts";
import type { Db } from "../db.ts";

export interface QuotaRow {
  /** `null` means the organisation. */
  readonly key_id: string | null;
  readonly what: Quota;
  readonly most: number;
}

/** The quotas that the organisation has set, including its keys'. */
export function listQuotas(db: Db): Promise<QuotaRow[]> {
  return db.query("select key_id, what, most::float8 as most from quotas where org_id = current_org()");
}

/** The quotas of the organisation or of one key, locked until the transaction ends. */
export async function lockQuotas(db: Db, keyId: string | null): Promise<QuotaLimits> {
  // The row may not exist yet.
  await db.query("select pg_advisory_xact_lock(hashtextextended('quotas ' || current_org()::text, 0))");
  return limitsOf(await listQuotas(db), keyId);
}

export function limitsOf(rows: readonly QuotaRow[], keyId: string | null): QuotaLimits {
  return Object.fromEntries(rows.filter(({ key_id }) => key_id === keyId).map(({ what, most }) => [what, most]));
}

/** Sets quotas of the organisation or of a key; null clears a quota. Others are not changed. */
export async function setQuotas(
  db: Db,
  orgId: string,
  keyId: string | null,
  limits: Readonly<Partial<Record<Quota, number | null | undefined>>>,
): Promise<void> {
  for (const [what, most] of Object.entries(limits)) {
    if (most === undefined) continue;
    if (most === null) {
      await db.query(
        "delete from quotas where org_id = $1::uuid and key_id is not distinct from $2::uuid and what = $3",
        [orgId, keyId, what],
      );
    } else {
      await db.query(
        `insert into quotas (org_id, key_id, what, most) values ($1::uuid, $2::uuid, $3, $4::numeric)
         on conflict (org_id, key_id, what) do update set most = excluded.most`,
        [orgId, keyId, what, most],
      );
    }
  }
}

export interface QuotaUse {
  readonly org_id: string;
  readonly key_id: string | null;
  readonly what: Quota;
  readonly used: number;
  /** Whether the use is added to the earlier use of the same minute or month. */
  readonly add: boolean;
  /** The limit named in events; null if there is none. */
  readonly most: number | null;
}

/**
 * Records a use, with an event if it crosses 80 or 100 %. Returns the total use. The row is locked until the
 * transaction ends.
 */
export async function useQuota(db: Db, use: QuotaUse): Promise<number> {
  const { begins, resets_at } = periodOf(use.what, new Date());
  return db.number(
    `select use_quota($1::uuid, $2::uuid, $3::text, $4::timestamptz, $5::numeric, $6::boolean, $7::numeric, $8::timestamptz,
      $9::uuid)::float8 as used`,
    [use.org_id, use.key_id, use.what, begins, use.used, use.add, use.most, resets_at, uuidv7()],
  );
}

/** The recorded use of the present minute or month; for quotas without a period, with the time of the count. */
export async function quotaUsage(
  db: Db,
  keyId: string | null,
  what: Quota,
): Promise<{ used: number; period: string } | null> {
  const row = await db.first<{ used: number; period: string }>(
    `select used::float8 as used, period from quota_usage
      where org_id = current_org() and key_id is not distinct from $1::uuid and what = $2::text`,
    [keyId, what],
  );
  if (!row) return null;
  const { begins, resets_at } = periodOf(what, new Date());
  return resets_at !== null && row.period < begins ? { used: 0, period: begins } : row;
}

/** Until the transaction ends, no other transaction adds a file to an organisation with this quota. */
export async function lockStorage(db: Db, orgId: string): Promise<void> {
  await db.query("select pg_advisory_xact_lock(hashtextextended('storage of ' || $1::uuid, 0))", [orgId]);
}

/** Bytes of the organisation's files: documents, resources of knowledge bases, skills. */
export async function countStoredBytes(db: Db): Promise<number> {
  return db.number(`select ((select coalesce(sum(size), 0) from documents where org_id = current_org())
    + (select coalesce(sum(size), 0) from knowledge_resources where org_id = current_org())
    + (select coalesce(sum(size), 0) from skill_versions where org_id = current_org()))::float8 as bytes`);
}

/**
 * Starts counting the month's model costs of the organisation or of a key. From then on each recorded call adds its cost, also without a
 * limit. Call it before anything locks a month.
 */
export async function countMonth(db: Db, orgId: string, keyId: string | null): Promise<void> {
  const counted = await db.any(
    `select from quota_usage
      where org_id = current_org() and key_id is not distinct from $1::uuid and what = 'model_usd_month'`,
    [keyId],
  );
  if (counted) return;
  await db.query("select pg_advisory_xact_lock(hashtextextended('months of ' || $1::uuid, 0))", [orgId]);
  // A separate statement, because the sum must include calls that were being recorded, which did not add their cost to this month.
  await db.query(
    `insert into quota_usage (org_id, key_id, what, period, used)
      select $1::uuid, $2::uuid, 'model_usd_month', $3::timestamptz, coalesce(sum(cost_usd), 0) from model_calls
      where org_id = $1::uuid and created_at >= $3::timestamptz and ($2::uuid is null or key_id = $2::uuid)
      on conflict (org_id, key_id, what) do nothing`,
    [orgId, keyId, periodOf("model_usd_month", new Date()).begins],
  );
}

/** Until the transaction ends, which records a call and adds its cost to the months, no other transaction starts counting a month. */
export async function holdMonths(db: Db, orgId: string): Promise<void> {
  await db.query("select pg_advisory_xact_lock_shared(hashtextextended('months of ' || $1::uuid, 0))", [orgId]);
}

/** Adds the cost of a call that a transaction records to a month; without a limit, only if the month is already counted. */
export async function addToMonth(
  db: Db,
  { key_id, ...use }: Pick<QuotaUse, "org_id" | "key_id" | "used" | "most">,
): Promise<void> {
  if (use.most === null) {
    const counted = await quotaUsage(db, key_id, "model_usd_month");
    if (counted === null) return;
  }
  await useQuota(db, { ...use, key_id, what: "model_usd_month", add: true });
}

/**
 * This month's model costs of the organisation or of a key, which are counted, and the reserved amount. No other call is
 * admitted until the transaction ends.
 */
export async function lockMonth(db: Db, keyId: string | null): Promise<Omit<Spending, "most">> {
  const { begins } = periodOf("model_usd_month", new Date());
  await db.query(
    `update quota_usage set used = case when period < $2::timestamptz then 0 else used end,
        notified = case when period < $2::timestamptz then 0 else notified end, period = greatest(period, $2::timestamptz)
      where org_id = current_org() and key_id is not distinct from $1::uuid and what = 'model_usd_month'`,
    [keyId, begins],
  );
  // A separate statement, so that it includes what other transactions reserved before they released the row.
  return db.one(
    `select u.used::float8 as spent, coalesce((select sum(amount) from cost_reservations c
        where c.org_id = current_org() and ($1::uuid is null or c.key_id = $1::uuid) and c.expires_at > now()), 0)::float8 as reserved
      from quota_usage u where u.org_id = current_org() and u.key_id is not distinct from $1::uuid and u.what = 'model_usd_month'`,
    [keyId],
  );
}
