import { LRUCache } from "lru-cache";
import { QUOTAS, KEY_QUOTAS, periodOf, type Quota, type QuotaLimits } from "../../domain/accounts/quotas.ts";
import type { Config } from "../../config.ts";
import { Problem, ValidationProblem, notFound } from "../../domain/errors.ts";
import type { Database, Db } from "../../stores/db.ts";
import {
  countMonth,
  countStoredBytes,
  limitsOf,
  listQuotas,
  lockQuotas,
  lockStorage,
  quotaUsage,
  setQuotas,
  useQuota,
} from "../../stores/quotas/quotas.ts";
import { holdApiKey } from "../../stores/accounts/api-keys.ts";
import { countNodePlaces } from "../../stores/runs/node-places.ts";
import { countLiveRuns } from "../../stores/runs/runs.ts";
import type { RowAudit } from "../audit/audit.ts";
import { changeLocked, stated } from "../change.ts";

/** How long a process uses the quotas that it has read (ms). */
const READ_FOR_MS = 5000;
/** How long added bytes are only summed up before all stored bytes are counted again, without deleted ones (ms). */
const STORAGE_COUNTED_MS = 60_000;

/** Quotas of an organisation that sets none itself. */
export function defaultQuotas(config: Config): QuotaLimits {
  return stated({
    concurrent_runs: config.MILLRACE_MAX_CONCURRENT_RUNS,
    concurrent_nodes: config.MILLRACE_QUOTA_CONCURRENT_NODES,
    runs_per_minute: config.MILLRACE_QUOTA_RUNS_PER_MINUTE,
    storage_bytes: config.MILLRACE_QUOTA_STORAGE_BYTES,
    model_usd_month: config.MILLRACE_QUOTA_MODEL_USD_MONTH,
  });
}

/** The limits in effect: the organisation's, and those of a key. */
export interface HeldLimits {
  readonly org: QuotaLimits;
  /** The part of `org` that was set for this organisation. */
  readonly own: QuotaLimits;
  readonly key: QuotaLimits;
}

export type QuotaReader = ReturnType<typeof createQuotaReader>;

/** Caches quotas, so that new runs do not query the database each time. */
export function createQuotaReader(db: Database, defaults: QuotaLimits) {
  const known = new LRUCache<string, ReturnType<typeof listQuotas>>({ max: 10_000, ttl: READ_FOR_MS });
  return {
    /** The limits of an organisation and one of its keys. Changes take effect within five seconds. */
    async read(orgId: string, keyId: string | null): Promise<HeldLimits> {
      let reading = known.get(orgId);
      if (!reading) {
        reading = db.org(orgId, listQuotas);
        known.set(orgId, reading);
        reading.catch(() => known.delete(orgId));
      }
      const rows = await reading;
      const own = limitsOf(rows, null);
      return { org: { ...defaults, ...own }, own, key: keyId === null ? {} : limitsOf(rows, keyId) };
    },
  };
}

/** The 429 of a quota: its name, how much of it is used, and when it resets. A quota of 0 never resets. */
export function quotaExceeded(quota: Quota, keyId: string | null, limit: number, used: number): Problem {
  const whose = keyId === null ? "organisation" : "key";
  const resets_at = limit === 0 ? null : periodOf(quota, new Date()).resets_at;
  const extra = { quota, key_id: keyId, limit, used, resets_at };
  if (limit === 0) {
    const who =
      keyId === null
        ? "The operator can change it with `millrace quotas set` or in the settings."
        : `An admin of the organisation can change it with PATCH /v2/api-keys/${keyId}/quotas.`;
    const detail = `The quota ${quota} of this ${whose} is 0, so every request is rejected. ${who}`;
    return new Problem("quota_exceeded", detail, { extra });
  }
  const seconds = resets_at === null ? 5 : Math.max(1, Math.ceil((Date.parse(resets_at) - Date.now()) / 1000));
  const until = resets_at === null ? "" : ` It resets at ${resets_at}.`;
  const detail = `The quota ${quota} of this ${whose} is exceeded: ${used} of ${limit} are used.${until}`;
  return new Problem("quota_exceeded", detail, { extra, headers: { "Retry-After": String(seconds) } });
}

/** Whether an error means that a limit is reached now but a retry may succeed later; never for a quota of 0. */
export function isNoPlace({ code, extra }: Problem): boolean {
  if (code === "quota_exceeded" && extra["limit"] === 0) return false;
  return ["too_many_concurrent_runs", "too_many_new_runs", "quota_exceeded"].includes(code);
}

/** Counts bytes that a transaction adds to the storage. Throws 429 if they exceed the quota. */
export type CountStored = (db: Db, bytes: number) => Promise<void>;

/** Returns a function that counts files about to be added to an organisation. */
export async function storageOf(quotas: QuotaReader, orgId: string): Promise<CountStored> {
  const most = (await quotas.read(orgId, null)).org.storage_bytes;
  if (most === undefined) return async () => undefined;
  const use = { org_id: orgId, key_id: null, what: "storage_bytes", most } as const;
  return async (db, bytes) => {
    // The lock makes concurrent files count one after the other.
    await lockStorage(db, orgId);
    const noted = await quotaUsage(db, null, "storage_bytes");
    const holds =
      noted !== null && Date.now() - Date.parse(noted.period) <= STORAGE_COUNTED_MS && noted.used + bytes <= most;
    const used = holds ? noted.used + bytes : await countStoredBytes(db);
    if (used > most) throw quotaExceeded("storage_bytes", null, most, used - bytes);
    await useQuota(db, { ...use, used: holds ? bytes : used, add: holds });
  };
}

/** A limit that no count reaches. */
export const ANY_NUMBER = 2_147_483_647;

/** Undefined fields are unchanged; null clears a quota. */
export type QuotaChange = Readonly<Partial<Record<(typeof KEY_QUOTAS)[number], number | null | undefined>>>;

/**
 * Changes the quotas of a key. Calls `check` with the locked quotas before it changes anything. Throws 404 for a key
 * that is not valid, and 422 for more than the organisation's quota.
 */
export async function changeKeyQuotas(
  database: Database,
  { org_id, key_id }: { readonly org_id: string; readonly key_id: string },
  change: QuotaChange,
  defaults: QuotaLimits,
  check: (limits: QuotaLimits) => void,
  audited: RowAudit<QuotaLimits>,
): Promise<void> {
  await changeLocked(database, org_id, {
    async lock(db) {
      if (!(await holdApiKey(db, key_id))) throw notFound("API key");
      return lockQuotas(db, key_id);
    },
    requireMatch: check,
    audited,
    async write(db) {
      const most = { ...defaults, ...limitsOf(await listQuotas(db), null) };
      const issues = KEY_QUOTAS.flatMap((quota) => {
        const [wanted, held] = [change[quota], most[quota]];
        if (wanted == null || held === undefined || wanted <= held) return [];
        return [{ loc: ["body", quota], msg: `The organisation's own quota is ${held}`, type: "less_than_equal" }];
      });
      if (issues.length > 0) throw new ValidationProblem(issues);
      await setQuotas(db, org_id, key_id, change);
    },
  });
}

/** How much of a quota is used now. */
async function usedOf(db: Db, orgId: string, keyId: string | null, quota: Quota): Promise<number> {
  switch (quota) {
    case "concurrent_nodes":
      return countNodePlaces(db, keyId);
    case "concurrent_runs":
      return countLiveRuns(db, orgId, keyId === null ? {} : { key_id: keyId }, ANY_NUMBER);
    case "storage_bytes":
      return countStoredBytes(db);
    case "model_usd_month":
      await countMonth(db, orgId, keyId);
      return (await quotaUsage(db, keyId, quota))?.used ?? 0;
    case "runs_per_minute":
      return (await quotaUsage(db, keyId, quota))?.used ?? 0;
  }
}

export interface QuotaStatus {
  readonly quota: Quota;
  /** Null: there is no limit. */
  readonly limit: number | null;
  /** Null: not counted, because nothing limits it. */
  readonly used: number | null;
  readonly resets_at: string | null;
}

/** The quotas of an organisation or a key, with how much is used. */
export async function quotaStatus(
  db: Db,
  orgId: string,
  keyId: string | null,
  defaults: QuotaLimits,
): Promise<QuotaStatus[]> {
  const rows = await listQuotas(db);
  const own = limitsOf(rows, keyId);
  const countsNodes = defaults.concurrent_nodes !== undefined || rows.some(({ what }) => what === "concurrent_nodes");
  const limits = keyId === null ? { ...defaults, ...own } : own;
  const all: QuotaStatus[] = [];
  for (const quota of keyId === null ? QUOTAS : KEY_QUOTAS) {
    const { resets_at } = periodOf(quota, new Date());
    const used = quota === "concurrent_nodes" && !countsNodes ? null : await usedOf(db, orgId, keyId, quota);
    all.push({ quota, limit: limits[quota] ?? null, used, resets_at });
  }
  return all;
}
