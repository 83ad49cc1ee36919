import { invalid } from "../../domain/errors.ts";
import type { Database, Db } from "../../stores/db.ts";
import { getRetention, lockRetention, setRetention, type RetentionDays } from "../../stores/system/retention.ts";
import type { RowAudit } from "../audit/audit.ts";
import { changeLocked } from "../change.ts";
import { requireProject } from "../projects/projects.ts";

/** How long runs are kept after their end (days); null: forever. */
export interface Retention {
  /** The organisation's or project's own setting; null: none. */
  readonly run_days: number | null;
  /** The longest that can be set, which the installation and, for a project, its organisation determine. */
  readonly max_run_days: number | null;
  /** The setting in effect. */
  readonly effective_run_days: number | null;
}

/** The owner of a policy. Without a project it is the organisation. */
export interface RetentionOf {
  readonly org_id: string;
  readonly project_id: string | null;
}

/** The current policy. Throws the 404 of a project that does not exist. */
export async function retentionOf(db: Database, of: RetentionOf, installation: number | null): Promise<Retention> {
  await requireOwner(db, of);
  const set = await db.org(of.org_id, (connection) => getRetention(connection, of.project_id));
  return toRetention(of, set, installation);
}

/** Sets how long runs are kept; null clears the setting. Throws 422 for more than the installation or the organisation allows. */
export async function changeRetention(
  db: Database,
  of: RetentionOf,
  runDays: number | null | undefined,
  installation: number | null,
  requireMatch: (found: Retention) => void,
  audited: RowAudit<Retention>,
): Promise<Retention> {
  await requireOwner(db, of);
  const lock = async (connection: Db): Promise<Retention> =>
    toRetention(of, await lockRetention(connection, of.project_id), installation);
  return await changeLocked(db, of.org_id, {
    lock,
    requireMatch,
    audited,
    async write(connection, { max_run_days }) {
      if (typeof runDays === "number" && max_run_days !== null && runDays > max_run_days) {
        const whose = of.project_id === null ? "the installation" : "the organisation";
        throw invalid(["body", "run_days"], `Runs can be kept for at most ${max_run_days} days: a limit of ${whose}`);
      }
      if (runDays !== undefined) await setRetention(connection, of.project_id, runDays);
      return lock(connection);
    },
  });
}

async function requireOwner(db: Database, { org_id, project_id }: RetentionOf): Promise<void> {
  if (project_id !== null) await requireProject(db, org_id, project_id, "project");
}

function toRetention({ project_id }: RetentionOf, set: RetentionDays, installation: number | null): Retention {
  const max = project_id === null ? installation : fewest(installation, set.organisation);
  const own = project_id === null ? set.organisation : set.project;
  return { run_days: own, max_run_days: max, effective_run_days: fewest(own, max) };
}

/** The smaller number of days; null means forever. */
function fewest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
