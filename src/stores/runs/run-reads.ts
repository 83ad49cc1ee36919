import type { Db } from "../db.ts";
import { OPEN, TERMINAL } from "../states.ts";
import { atShownPath, shownPauses, type PauseRow } from "./pauses.ts";
import type { RunRow } from "./runs.ts";

/** One run if it is terminal or paused, so that a waiter checks and reads it in one query. */
export async function getSettledRun(db: Db, runId: string): Promise<RunRow | null> {
  return db.first(`select * from runs where run_id = $1::uuid and state in ('PAUSED', ${TERMINAL})`, [runId]);
}

/** The version of a run's record. Every visible change raises one of the two. */
export type RunPosition = Pick<RunRow, "run_id" | "state" | "event_seq">;

/** One run if its record has changed since this version. */
export async function getRunBeyond(db: Db, position: RunPosition): Promise<RunRow | null> {
  return db.first("select * from runs where run_id = $1::uuid and (event_seq <> $2::integer or state <> $3::text)", [
    position.run_id,
    position.event_seq,
    position.state,
  ]);
}

/** The versions of runs of all organisations, and of their models' texts. One query a second serves all waiters of a process. */
export async function runPositions(
  db: Db,
  runIds: readonly string[],
): Promise<Array<RunPosition & { readonly text_id: number | null }>> {
  return db.query(
    `select run_id, state, event_seq,
        (select d.id from run_deltas d where d.run_id = runs.run_id order by d.id desc limit 1) as text_id
      from runs where run_id = any ($1::uuid[])`,
    [runIds],
  );
}

/** How many runs of a project are unfinished. */
export async function countOpenRuns(db: Db, projectId: string): Promise<number> {
  return db.number(
    `select count(*)::int as open from runs
      where org_id = current_org() and project_id = $1::uuid and state in (${OPEN})`,
    [projectId],
  );
}

/** The IDs of a project's unfinished runs, in order, after `after`. */
export async function openRuns(db: Db, projectId: string, after: string, limit: number): Promise<string[]> {
  return db.column(
    `select run_id from runs where org_id = current_org() and project_id = $1::uuid and state in (${OPEN})
      and run_id > $2::uuid order by run_id limit $3::int`,
    [projectId, after, limit],
  );
}

/** The first pauses of each of these runs, in the order they were opened; at most `each` of a run. */
export async function listPausesOf(
  db: Db,
  runIds: readonly string[],
  each: number,
): Promise<Array<PauseRow & { readonly shown_in_run: string }>> {
  const rows = await db.query<PauseRow & { readonly shown_in_run: string; readonly shown_path: string | null }>(
    `select shown.*, r.run_id as shown_in_run from unnest($1::uuid[]) as r (run_id)
      cross join lateral (
        select * from (
          ${shownPauses("r.run_id")}
        ) as either order by created_at, pause_id limit $2::integer
      ) as shown`,
    [runIds, each],
  );
  return rows.map(atShownPath);
}

/** Whether a run was made from another one. */
export async function resumesAnother(db: Db, runId: string): Promise<boolean> {
  return db.any("select from runs where org_id = current_org() and run_id = $1::uuid and resumed_from is not null", [
    runId,
  ]);
}

/** Which of these runs, of all organisations, have a workflow that has not started. Some may have a pending cancellation. */
export async function runsToStart(db: Db, runIds: readonly string[]): Promise<RunRow[]> {
  return db.query("select * from runs where run_id = any ($1::uuid[]) and state = 'PENDING'", [runIds]);
}

/** Postpones the sweeper's check of queued runs. */
export async function holdQueuedRuns(db: Db, runIds: readonly string[], holdMs: number): Promise<void> {
  await db.query(
    `update runs set check_at = greatest(run_at, now()) + make_interval(secs => $2::float8 / 1000)
      where run_id = any ($1::uuid[]) and state = 'PENDING' and cancel_requested is null`,
    [runIds, holdMs],
  );
}
