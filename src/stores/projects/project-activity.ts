import type { RunState, RunType } from "../../domain/runs/run.ts";
import type { Db } from "../db.ts";
import { timeText } from "../time-text.ts";
import { nameOf } from "./author-names.ts";
import type { DraftStepHead } from "./drafts.ts";

/** What happens in a project: its draft, its last run, and its runs a day. */
export interface ProjectActivity {
  readonly project_id: string;
  readonly created_by: string | null;
  /** The e-mail address of a user or the name of a key; null if unknown or deleted. */
  readonly created_by_name: string | null;
  readonly draft: Pick<DraftStepHead, "revision" | "changed_at" | "changed_by" | "changed_by_name"> | null;
  readonly last_run: {
    readonly run_id: string;
    readonly state: RunState;
    readonly run_type: RunType;
    readonly created_at: string;
    readonly finished_at: string | null;
  } | null;
  /** Runs of each period, in the order of the periods. */
  readonly runs: readonly number[];
  /** How many of them have failed. */
  readonly failed: readonly number[];
}

/** A period of time, as the smallest run ID in it and the smallest one after it. */
export interface Period {
  readonly first: string;
  readonly next: string;
}

/**
 * The activity of the given projects in one statement. Each part is a probe of an index for each project; runs are counted by the time in
 * their IDs, because an index then has all that is counted.
 */
export async function projectActivity(
  db: Db,
  orgId: string,
  projectIds: readonly string[],
  periods: readonly Period[],
): Promise<ProjectActivity[]> {
  const counted = (and: string): string =>
    `(select count(*)::int from runs c where c.org_id = $1::uuid and c.project_id = p.project_id ${and}
        and c.run_id >= day.first and c.run_id < day.next)`;
  return db.query(
    `select p.project_id, p.created_by, ${nameOf("p.created_by", "p.org_id")} as created_by_name, d.draft, l.last_run, n.runs, n.failed
      from projects p
      left join lateral (
        select case when s.flow is not null then json_build_object('revision', s.revision, 'changed_at', ${timeText("s.changed_at")},
            'changed_by', s.changed_by, 'changed_by_name', ${nameOf("s.changed_by", "p.org_id")}) end as draft
        from draft_steps s where s.project_id = p.project_id order by s.revision desc limit 1) d on true
      left join lateral (
        select json_build_object('run_id', r.run_id, 'state', r.state, 'run_type', r.run_type, 'created_at', ${timeText("r.created_at")},
            'finished_at', ${timeText("r.finished_at")}) as last_run
        from runs r where r.org_id = $1::uuid and r.project_id = p.project_id order by r.run_id desc limit 1) l on true
      cross join lateral (
        select array_agg(${counted("")} order by day.at) as runs, array_agg(${counted("and c.state = 'FAILED'")} order by day.at) as failed
        from unnest($3::uuid[], $4::uuid[]) with ordinality as day (first, next, at)) n
      where p.project_id = any ($2::uuid[]) and p.org_id = current_org() and p.deleted_at is null`,
    [orgId, projectIds, periods.map(({ first }) => first), periods.map(({ next }) => next)],
  );
}
