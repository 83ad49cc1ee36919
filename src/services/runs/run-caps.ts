import { Problem } from "../../domain/errors.ts";
import type { Db } from "../../stores/db.ts";
import { quotaUsage, useQuota } from "../../stores/quotas/quotas.ts";
import { countLiveRuns, insertRun, lockRunCounts, type NewRun, type RunsOf } from "../../stores/runs/runs.ts";
import { ANY_NUMBER, quotaExceeded, type QuotaReader } from "../accounts/quotas.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";

/** The limits for an additional run. */
export interface RunCaps {
  readonly org_id: string;
  /** Limits of unfinished runs. */
  readonly concurrency: readonly ConcurrencyCap[];
  /** Limits of runs started per minute. */
  readonly rates: ReadonlyArray<{ readonly key_id: string | null; readonly most: number }>;
}

interface ConcurrencyCap {
  readonly what: "organisation" | "flow" | "key";
  readonly of: RunsOf;
  readonly most: number;
  /** Set if the limit is a quota, with its owner; undefined for a setting of the flow. */
  readonly quota?: { readonly key_id: string | null };
  /** Whether the limit is the installation's setting for all organisations. */
  readonly usual?: boolean;
}

type WantedRun = Pick<NewRun, "org_id" | "project_id" | "ran_by_type" | "ran_by_id" | "key_id">;

/** The limits of a run that is to be started; null if there are none. */
export async function capsOf(
  quotas: QuotaReader,
  { org_id, project_id, plan, ran_by_type, ran_by_id, key_id: countedFor = null }: WantedRun & { readonly plan: Plan },
): Promise<RunCaps | null> {
  const key_id = countedFor ?? (ran_by_type === "org_api_key" ? ran_by_id : null);
  const { org, own, key } = await quotas.read(org_id, key_id);
  const ofFlow = plan.settings.max_concurrent_runs;
  const concurrency: ConcurrencyCap[] = [];
  if (org.concurrent_runs !== undefined) {
    const usual = own.concurrent_runs === undefined;
    concurrency.push({ what: "organisation", of: {}, most: org.concurrent_runs, quota: { key_id: null }, usual });
  }
  if (key.concurrent_runs !== undefined && key_id !== null)
    concurrency.push({ what: "key", of: { key_id }, most: key.concurrent_runs, quota: { key_id } });
  if (ofFlow !== undefined) concurrency.push({ what: "flow", of: { project_id }, most: ofFlow });
  const rates = [
    { key_id: null, most: org.runs_per_minute },
    { key_id, most: key.runs_per_minute },
  ].flatMap(({ key_id: of, most }) => (most === undefined ? [] : [{ key_id: of, most }]));
  return concurrency.length + rates.length === 0 ? null : { org_id, concurrency, rates };
}

/** The Problem of the first limit that is reached. Reserves nothing. */
export async function findFull(db: Db, caps: RunCaps): Promise<Problem | null> {
  for (const cap of caps.concurrency) {
    const live = await countLiveRuns(db, caps.org_id, cap.of, cap.most);
    if (live >= cap.most) return tooMany(db, caps.org_id, cap, 0);
  }
  for (const { key_id, most } of caps.rates) {
    const { used } = (await quotaUsage(db, key_id, "runs_per_minute")) ?? { used: 0 };
    if (used >= most) return quotaExceeded("runs_per_minute", key_id, most, used);
  }
  return null;
}

/**
 * Inserts a run unless its id exists. Throws the Problem of a limit that the run would exceed, which rolls the
 * insertion back.
 */
export async function insertWithin(db: Db, row: NewRun, caps: RunCaps): Promise<boolean> {
  const { org_id, concurrency, rates } = caps;
  await lockRunCounts(db, org_id);
  if (!(await insertRun(db, row))) return false;
  for (const cap of concurrency) {
    const live = await countLiveRuns(db, org_id, cap.of, cap.most + 1);
    if (live > cap.most) throw await tooMany(db, org_id, cap, 1);
    if (cap.quota)
      await useQuota(db, { org_id, ...cap.quota, what: "concurrent_runs", used: live, add: false, most: cap.most });
  }
  for (const { key_id, most } of rates) {
    const used = await useQuota(db, { org_id, key_id, what: "runs_per_minute", used: 1, add: true, most });
    if (used > most) throw quotaExceeded("runs_per_minute", key_id, most, used - 1);
  }
  return true;
}

/** `own` is 1 if the refused run is already among the counted ones. */
async function tooMany(
  db: Db,
  orgId: string,
  { what, of, most, quota, usual }: ConcurrencyCap,
  own: 0 | 1,
): Promise<Problem> {
  // The installation's setting has its own error code, except if it is 0, because then no finished run helps.
  if (quota && (usual !== true || most === 0)) {
    // Counted, because a lowered quota may be exceeded by far, and the error must agree with `GET /v2/quotas`.
    const used = (await countLiveRuns(db, orgId, of, ANY_NUMBER)) - own;
    return quotaExceeded("concurrent_runs", quota.key_id, most, used);
  }
  return new Problem(
    "too_many_concurrent_runs",
    `The limit for unfinished runs of this ${what} is ${most}, paused runs included. Retry when one finishes.`,
    { headers: { "Retry-After": "5" } },
  );
}
