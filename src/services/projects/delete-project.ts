import { Problem, notFound } from "../../domain/errors.ts";
import { deleteProject as hideProject, findProject, lockProjectToDelete } from "../../stores/projects/projects.ts";
import type { Project } from "../../stores/projects/projects.ts";
import { recordDeleted } from "../audit/audit.ts";
import type { RowAudit } from "../audit/audit.ts";
import { deleteMonitorsOf } from "../evals/monitors.ts";
import type { RunControlDeps } from "../runs/answer-pause.ts";
import { forgetProject } from "../models/memory.ts";
import { cancelOpenRuns, openRunCount } from "../runs/open-runs.ts";
import { deleteTriggersOf } from "../triggers/triggers.ts";
import { refuseWhileUsed } from "./flow-references.ts";

export interface ProjectToDelete {
  readonly orgId: string;
  readonly projectId: string;
  readonly cancelRuns: boolean;
  readonly audited: RowAudit<Project>;
}

/**
 * Deletes a project with its triggers and monitors, and with `cancelRuns` asks its open runs to stop. Throws 404, 409
 * `in_use` where another project's published flow calls it, and 409 `runs_open` where runs have not ended.
 */
export async function deleteProject(
  deps: RunControlDeps,
  { orgId, projectId, cancelRuns, audited }: ProjectToDelete,
): Promise<void> {
  const { db } = deps;
  await db.orgTransaction(orgId, async (connection) => {
    const project = (await lockProjectToDelete(connection, projectId))
      ? await findProject(connection, projectId)
      : null;
    if (project === null) throw notFound("project");
    await refuseWhileUsed(connection, "project", projectId);
    const open_runs = cancelRuns ? 0 : await openRunCount(connection, projectId);
    if (open_runs > 0) {
      const detail = `${open_runs} of its runs have not ended. Wait for them, or cancel them with ?cancel_runs=true.`;
      throw new Problem("runs_open", detail, { extra: { open_runs } });
    }
    await hideProject(connection, projectId);
    // These would go on without the project. Temporal's schedules are removed soon after; until then they find nothing
    // to start.
    await deleteTriggersOf(connection, projectId);
    await deleteMonitorsOf(connection, projectId);
    await forgetProject(connection, projectId);
    await recordDeleted(connection, audited, project);
  });
  // The project is gone, so no more of its runs start.
  if (cancelRuns) await cancelOpenRuns(deps, { orgId, projectId, reason: "The project was deleted." });
}
