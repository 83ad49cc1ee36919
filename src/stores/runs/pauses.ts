import type { PauseOpening, PauseResolution } from "../../domain/runs/run.ts";
import { jsonb } from "../jsonb.ts";
import type { Db } from "../db.ts";
import { OPEN } from "../states.ts";

export interface PauseRow extends PauseOpening {
  readonly run_id: string;
  readonly received: ReadonlyArray<{ readonly by: string; readonly action: string; readonly at: string }>;
  readonly status: "waiting" | "resolved" | "expired" | "cancelled";
  readonly resolution: PauseResolution | null;
  readonly created_at: string;
  readonly resolved_at: string | null;
}

/** A pause whose data and form keep the order in which their fields were written. From PAUSES. */
export const PAUSE = `p.pause_id, p.run_id, p.org_id, p.workflow_id, p.node_id, p.path, p.kind, p.message,
  coalesce(t.data, p.data::json) as data, coalesce(t.form, p.form::json) as form, p.actions, p.required_approvals, p.assignees,
  p.received, p.expires_at, p.on_timeout, p.status, p.resolution, p.created_at, p.resolved_at`;
export const PAUSES = "run_pauses p left join run_pause_texts t using (pause_id)";

/** A query of the pauses that a run shows: its own, and those of its child runs, which have another path in it. */
export const shownPauses = (
  run: string,
): string => `select ${PAUSE}, null as shown_path from ${PAUSES} where p.run_id = ${run}
  union all select ${PAUSE}, shown.path from ${PAUSES} join run_shown_pauses as shown using (pause_id) where shown.run_id = ${run}`;

/** The pauses that a run shows, in order: its own, and those of its child runs at their paths in it. */
export async function listPauses(db: Db, runId: string): Promise<PauseRow[]> {
  const rows = await db.query<PauseRow>(shownPauses("$1::uuid"), [runId]);
  return inOrder(rows.map(atShownPath));
}

/** The runs that show a pause of a child run as their own, the outermost first. */
export async function runsShowing(db: Db, pauseId: string): Promise<string[]> {
  return db.column("select run_id from run_shown_pauses where pause_id = $1::uuid order by distance desc", [pauseId]);
}

export function atShownPath<Row extends PauseRow>({
  shown_path,
  ...row
}: Row & { readonly shown_path?: string | null }): Omit<Row, "shown_path"> {
  return { ...row, path: shown_path ?? row.path };
}

const paths = new Intl.Collator("en", { numeric: true });

/** Ordered by the top-level node that opened them, in the order of time; within one node by path, so that iterations are in their order. */
function inOrder<Row extends PauseRow>(rows: readonly Row[]): Row[] {
  const nodeOf = ({ path }: PauseRow): string => path.split(/[[/]/, 1)[0] ?? path;
  const firstOf = new Map<string, string>();
  for (const row of rows) {
    const known = firstOf.get(nodeOf(row));
    if (known === undefined || row.created_at < known) firstOf.set(nodeOf(row), row.created_at);
  }
  const since = (row: PauseRow): string => firstOf.get(nodeOf(row)) ?? "";
  return rows.toSorted((one, other) => {
    if (since(one) !== since(other)) return since(one) < since(other) ? -1 : 1;
    return paths.compare(one.path, other.path);
  });
}

/** One pause, locked until the transaction ends. Lock the run first (`lockRun`): every writer takes them in that order. */
export async function lockPause(db: Db, pauseId: string): Promise<PauseRow | null> {
  return db.first(`select ${PAUSE} from ${PAUSES} where p.pause_id = $1::uuid for update of p`, [pauseId]);
}

/** Adds a decision to a locked pause that needs more than one. */
export async function addApproval(db: Db, pauseId: string, received: PauseRow["received"]): Promise<void> {
  await db.query("update run_pauses set received = $2::jsonb where pause_id = $1::uuid", [pauseId, jsonb(received)]);
}

/** Closes a waiting pause; false if it is closed already. */
export async function closePause(
  db: Db,
  pauseId: string,
  status: "resolved" | "expired",
  resolution: PauseResolution | null,
  received: PauseRow["received"] | null,
): Promise<boolean> {
  return db.any(
    `update run_pauses set status = $2, resolution = $3::jsonb, received = coalesce($4::jsonb, received), resolved_at = now()
     where pause_id = $1::uuid and status = 'waiting'`,
    [pauseId, status, resolution ? jsonb(resolution) : null, received ? jsonb(received) : null],
  );
}

/** Stores the redacted form of a resolution once its run has received it. */
export async function replaceResolution(db: Db, pauseId: string, resolution: PauseResolution): Promise<void> {
  await db.query("update run_pauses set resolution = $2::jsonb where pause_id = $1::uuid", [
    pauseId,
    jsonb(resolution),
  ]);
}

/** Resolutions that no workflow has acknowledged; the sweeper signals them again. */
export async function undeliveredPauses(db: Db, olderThanMs: number, limit: number): Promise<PauseRow[]> {
  return db.query(
    // No workflow acknowledges resolutions of finished runs, so they would fill the batch.
    `select ${PAUSE} from ${PAUSES} join runs r using (run_id) where p.status = 'resolved' and p.delivered_at is null
       and r.state in (${OPEN})
       and p.resolved_at < now() - make_interval(secs => $1::float8 / 1000)
     order by row_number() over (partition by p.org_id order by p.resolved_at) limit $2`,
    [olderThanMs, limit],
  );
}
