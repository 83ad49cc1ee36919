import type { ErasureCounts, ErasureProgress, ErasureRest, ErasureState } from "../../domain/erasures/erasure.ts";
import { FIRST_PROGRESS } from "../../domain/erasures/erasure.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { keysetSql } from "../keyset.ts";
import type { Keyset } from "../keyset.ts";
import { lockRoundRobin } from "../round-robin.ts";

export interface ErasureRow {
  readonly erasure_id: string;
  readonly org_id: string;
  readonly project_id: string | null;
  /** Null once it is done. */
  readonly user_id: string | null;
  readonly user_hash: string;
  readonly state: ErasureState;
  readonly progress: ErasureProgress;
  readonly removed: ErasureCounts;
  readonly remaining: readonly ErasureRest[];
  readonly problem: string | null;
  readonly created_by_type: string;
  readonly created_by_id: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

export type NewErasure = Pick<
  ErasureRow,
  "erasure_id" | "org_id" | "project_id" | "user_hash" | "created_by_type" | "created_by_id"
> & { readonly user_id: string };

/** An unfinished erasure that this process has claimed. */
export type OpenErasure = ErasureRow & { readonly user_id: string; readonly claim: string };

type Claimed = Pick<OpenErasure, "erasure_id" | "claim">;

/** Thrown when another process has claimed the erasure, or it is finished or deleted: nothing more may be written. */
export class ClaimLost extends Error {
  constructor(erasureId: string) {
    super(`another process works on erasure ${erasureId}, or it is finished`);
    this.name = "ClaimLost";
  }
}

const COLUMNS = `erasure_id, org_id, project_id, user_id, user_hash, state, progress, removed, remaining, problem, created_by_type,
  created_by_id, created_at, started_at, finished_at`;

/** Starts an erasure; null if one of the same user and project is in progress. */
export async function insertErasure(db: Db, erasure: NewErasure): Promise<ErasureRow | null> {
  return db.first<ErasureRow>(
    `insert into erasures (erasure_id, org_id, project_id, user_id, user_hash, progress, created_by_type, created_by_id)
      values ($1::uuid, $2::uuid, $3::uuid, $4::text, $5::text, $6::jsonb, $7::text, $8::uuid)
      on conflict do nothing returning ${COLUMNS}`,
    [
      erasure.erasure_id,
      erasure.org_id,
      erasure.project_id,
      erasure.user_id,
      erasure.user_hash,
      jsonb(FIRST_PROGRESS),
      erasure.created_by_type,
      erasure.created_by_id,
    ],
  );
}

/** The user's erasure in progress, or null. */
export async function findOpenErasure(db: Db, userId: string, projectId: string | null): Promise<ErasureRow | null> {
  return db.first<ErasureRow>(
    `select ${COLUMNS} from erasures where org_id = current_org() and user_id = $1::text
      and project_id is not distinct from $2::uuid and finished_at is null`,
    [userId, projectId],
  );
}

/** One erasure, or null. */
export async function findErasure(db: Db, erasureId: string): Promise<ErasureRow | null> {
  return db.first<ErasureRow>(
    `select ${COLUMNS} from erasures where org_id = current_org() and erasure_id = $1::uuid`,
    [erasureId],
  );
}

/** A page of the organisation's erasures. */
export async function listErasures(db: Db, page: Keyset): Promise<ErasureRow[]> {
  const { bound, compare, order } = keysetSql(page);
  return db.query<ErasureRow>(
    `select ${COLUMNS} from erasures where org_id = current_org() and erasure_id ${compare} $1::uuid
      order by erasure_id ${order} limit $2::int`,
    [bound, page.limit],
  );
}

const DUE = lockRoundRobin({
  table: "erasures",
  key: "erasure_id",
  where: "finished_at is null and leased_until <= now()",
  order: "erasure_id",
  limit: "$1::int",
});

/**
 * Claims open erasures that no other process is working on, organisations in turn. Another process may take the erasure over when `leaseMs`
 * have passed without a renewal. System only.
 */
export async function takeErasures(db: Db, limit: number, leaseMs: number): Promise<OpenErasure[]> {
  return db.query<OpenErasure>(
    `update erasures set state = 'RUNNING', started_at = coalesce(started_at, now()),
        leased_until = now() + make_interval(secs => $2::float8 / 1000), claim = gen_random_uuid()
      where erasure_id in (${DUE}) returning ${COLUMNS}, claim`,
    [limit, leaseMs],
  );
}

/** Keeps the erasure from other processes for `leaseMs` more, if the claim still holds. System only. */
export async function renewClaim(db: Db, { erasure_id, claim }: Claimed, leaseMs: number): Promise<void> {
  await db.query(
    `update erasures set leased_until = now() + make_interval(secs => $3::float8 / 1000)
      where erasure_id = $1::uuid and claim = $2::uuid and finished_at is null`,
    [erasure_id, claim, leaseMs],
  );
}

/**
 * First in each transaction of an erasure: throws ClaimLost unless the claim holds, and keeps it until the transaction
 * ends.
 */
export async function lockClaim(db: Db, { erasure_id, claim }: Claimed): Promise<void> {
  const held = await db.any(
    `select from erasures where erasure_id = $1::uuid and claim = $2::uuid and finished_at is null for no key update`,
    [erasure_id, claim],
  );
  if (!held) throw new ClaimLost(erasure_id);
}

/** Records where an erasure continues, and for how long (ms) it stays claimed or is not due. Throws ClaimLost. System only. */
export async function noteErasure(
  db: Db,
  { erasure_id, claim }: Claimed,
  progress: ErasureProgress,
  forMs: number,
  problem: string | null = null,
): Promise<void> {
  const noted = await db.any(
    `update erasures set progress = $3::jsonb, leased_until = now() + make_interval(secs => $4::float8 / 1000), problem = $5::text
      where erasure_id = $1::uuid and claim = $2::uuid and finished_at is null`,
    [erasure_id, claim, jsonb(progress), forMs, problem],
  );
  if (!noted) throw new ClaimLost(erasure_id);
}

/** Adds to the counts of an erasure, in the transaction that removes the data. */
export async function addRemoved(db: Db, erasureId: string, counts: ErasureCounts): Promise<void> {
  const some = Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  if (Object.keys(some).length === 0) return;
  await db.query(
    `update erasures e set removed = e.removed || (
        select jsonb_object_agg(key, value::bigint + coalesce((e.removed ->> key)::bigint, 0)) from jsonb_each_text($2::jsonb))
      where erasure_id = $1::uuid`,
    [erasureId, jsonb(some)],
  );
}

/**
 * Ends an erasure: only the user's hash and the counts stay. Throws ClaimLost. Call it in a transaction. System only.
 */
export async function endErasure(db: Db, erasure: Claimed, remaining: readonly ErasureRest[]): Promise<void> {
  await lockClaim(db, erasure);
  const erasureId = erasure.erasure_id;
  await db.query("delete from erasure_items where erasure_id = $1::uuid", [erasureId]);
  await db.query("delete from erasure_blobs where erasure_id = $1::uuid", [erasureId]);
  await db.query(
    `update erasures set state = 'COMPLETED', user_id = null, finished_at = now(), remaining = $2::jsonb, problem = null
      where erasure_id = $1::uuid`,
    [erasureId, jsonb(remaining)],
  );
}
