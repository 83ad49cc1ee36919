import type { Db } from "../db.ts";

/** How many days runs are kept after they finish, as set; null if not set. */
export interface RetentionDays {
  readonly organisation: number | null;
  /** The setting of the requested project. */
  readonly project: number | null;
}

/** The settings of the organisation, and of one of its projects. */
export async function getRetention(db: Db, projectId: string | null): Promise<RetentionDays> {
  return db.one(
    `select max(run_days) filter (where project_id is null) as organisation,
        max(run_days) filter (where project_id = $1::uuid) as project
      from retention_policies where org_id = current_org() and (project_id is null or project_id = $1::uuid)`,
    [projectId],
  );
}

/** The settings of the organisation and of one of its projects; locks the organisation's policies until the transaction ends. */
export async function lockRetention(db: Db, projectId: string | null): Promise<RetentionDays> {
  // The row may not exist yet.
  await db.query("select pg_advisory_xact_lock(hashtextextended('retention ' || current_org()::text, 0))");
  return getRetention(db, projectId);
}

/** Sets how long runs of the organisation or of one project are kept; null clears the setting. */
export async function setRetention(db: Db, projectId: string | null, runDays: number | null): Promise<void> {
  if (runDays === null) {
    await db.query(
      "delete from retention_policies where org_id = current_org() and project_id is not distinct from $1::uuid",
      [projectId],
    );
    return;
  }
  await db.query(
    `insert into retention_policies (org_id, project_id, run_days) values (current_org(), $1::uuid, $2::int)
     on conflict (org_id, project_id) do update set run_days = excluded.run_days, updated_at = now()`,
    [projectId, runDays],
  );
}

/**
 * SQL of the projects whose runs are not kept forever, with the effective number of days: the lowest that the installation ($1), the
 * organisation and the project set. Also whether the organisation or the project has set any.
 */
export const KEPT_FOR = `select p.org_id, p.project_id, least($1::int, o.run_days, q.run_days) as days,
    least(o.run_days, q.run_days) is not distinct from least($1::int, o.run_days, q.run_days) as by_policy
  from projects p
  left join retention_policies o on o.org_id = p.org_id and o.project_id is null
  left join retention_policies q on q.org_id = p.org_id and q.project_id = p.project_id
  where least($1::int, o.run_days, q.run_days) is not null`;
