import {
  FIRST_PROGRESS,
  type ErasureCounts,
  type ErasureProgress,
  type ErasureRest,
  type ErasureState,
} from "../../domain/erasures/erasure.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { selectPage, type Keyset } from "../keyset.ts";

const ROW = columns(`erasure_id uuid, org_id uuid, project_id uuid null, user_id text null, user_hash text, state text,
  progress jsonb, removed jsonb, remaining jsonb, problem text null, created_by_type text, created_by_id uuid,
  created_at timestamptz, started_at timestamptz null, finished_at timestamptz null`);

export interface ErasureRow extends RowOf<typeof ROW> {
  /** Null once it is done. */
  readonly user_id: string | null;
  readonly state: ErasureState;
  readonly progress: ErasureProgress;
  readonly removed: ErasureCounts;
  readonly remaining: readonly ErasureRest[];
}

export type NewErasure = Pick<
  ErasureRow,
  "erasure_id" | "org_id" | "project_id" | "user_hash" | "created_by_type" | "created_by_id"
> & { readonly user_id: string };

/** An unfinished erasure, at the position from which it continues. */
export type OpenErasure = ErasureRow & { readonly user_id: string };

export type ErasureId = Pick<OpenErasure, "erasure_id" | "org_id">;

type Position = Pick<OpenErasure, "erasure_id" | "progress">;

/** Thrown when an erasure is at another position, finished or deleted: whoever continued it from here writes nothing more. */
export class ErasureMoved extends Error {
  constructor(erasureId: string) {
    super(`erasure ${erasureId} has been continued by another process, or is finished`);
    this.name = "ErasureMoved";
  }
}

const NEW = columns(`erasure_id uuid, org_id uuid, project_id uuid, user_id text, user_hash text, progress jsonb,
  created_by_type text, created_by_id uuid`);
const COLUMNS = ROW.select();

/** Starts an erasure; null if one of the same user and project is in progress. */
export async function insertErasure(db: Db, erasure: NewErasure): Promise<ErasureRow | null> {
  return db.first(
    `insert into erasures ${NEW.into} on conflict do nothing returning ${COLUMNS}`,
    NEW.values({ ...erasure, progress: FIRST_PROGRESS }),
  );
}

/** The user's erasure in progress, or null. */
export async function findOpenErasure(db: Db, userId: string, projectId: string | null): Promise<ErasureRow | null> {
  return db.first(
    `select ${COLUMNS} from erasures where org_id = current_org() and user_id = $1::text
      and project_id is not distinct from $2::uuid and finished_at is null`,
    [userId, projectId],
  );
}

/** One erasure, or null. */
export async function findErasure(db: Db, erasureId: string): Promise<ErasureRow | null> {
  return db.first(`select ${COLUMNS} from erasures where org_id = current_org() and erasure_id = $1::uuid`, [
    erasureId,
  ]);
}

/** A page of the organisation's erasures. */
export async function listErasures(db: Db, page: Keyset): Promise<ErasureRow[]> {
  const select = `select ${COLUMNS} from erasures where org_id = current_org()`;
  return selectPage(db, page, "erasure_id", select);
}

/** How many erasures are unfinished, and in how many of them the last step failed. System only. */
export async function countOpenErasures(db: Db): Promise<{ readonly open: number; readonly failing: number }> {
  return db.one("select count(*)::int as open, count(problem)::int as failing from erasures where finished_at is null");
}

/** Begins or continues an erasure; null if it is finished or deleted. System only. */
export async function continueErasure(db: Db, erasureId: string): Promise<OpenErasure | null> {
  return db.first(
    `update erasures set state = 'RUNNING', started_at = coalesce(started_at, now())
      where erasure_id = $1::uuid and finished_at is null returning ${COLUMNS}`,
    [erasureId],
  );
}

/**
 * First in each transaction of an erasure: throws ErasureMoved unless the erasure is at this position, and keeps it
 * there until the transaction ends.
 */
export async function lockErasure(db: Db, { erasure_id, progress }: Position): Promise<void> {
  const held = await db.any(
    `select from erasures where erasure_id = $1::uuid and progress = $2::jsonb and finished_at is null for no key update`,
    [erasure_id, jsonb(progress)],
  );
  if (!held) throw new ErasureMoved(erasure_id);
}

/** Records the position from which an erasure continues. Throws ErasureMoved. System only. */
export async function moveErasure(
  db: Db,
  { erasure_id, progress }: Position,
  next: ErasureProgress,
  problem: string | null = null,
): Promise<void> {
  const moved = await db.any(
    `update erasures set progress = $3::jsonb, problem = $4::text
      where erasure_id = $1::uuid and progress = $2::jsonb and finished_at is null`,
    [erasure_id, jsonb(progress), jsonb(next), problem],
  );
  if (!moved) throw new ErasureMoved(erasure_id);
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
 * Ends an erasure: only the user's hash and the counts stay. Throws ErasureMoved. Call it in a transaction. System only.
 */
export async function endErasure(db: Db, erasure: Position, remaining: readonly ErasureRest[]): Promise<void> {
  await lockErasure(db, erasure);
  const erasureId = erasure.erasure_id;
  await db.query("delete from erasure_items where erasure_id = $1::uuid", [erasureId]);
  await db.query("delete from erasure_blobs where erasure_id = $1::uuid", [erasureId]);
  await db.query(
    `update erasures set state = 'COMPLETED', user_id = null, finished_at = now(), remaining = $2::jsonb, problem = null
      where erasure_id = $1::uuid`,
    [erasureId, jsonb(remaining)],
  );
}
