import { Problem, required } from "../../domain/errors.ts";
import { deleteDraftSteps } from "../../stores/projects/drafts.ts";
import {
  deleteProject as hideProject,
  findProject,
  lockProjectToDelete,
  type Project,
} from "../../stores/projects/projects.ts";
import { recordDeleted, type RowAudit } from "../audit/audit.ts";
import { deleteMonitorsOf } from "../evals/monitors.ts";
import type { RunControlDeps } from "../runs/answer-pause.ts";
import { forgetProject } from "../models/memory.ts";
import { cancelOpenRuns, countOpenRuns } from "../runs/cancel-run.ts";
import { revokePagesOf } from "../pages/pages.ts";
import { deleteTriggersOf } from "../triggers/triggers.ts";
import { refuseWhileUsed } from "./flow-references.ts";

export interface ProjectToDelete {
  readonly orgId: string;
  readonly projectId: string;
  readonly cancelRuns: boolean;
  readonly audited: RowAudit<Project>;
}

/**
 * Deletes a project with its triggers, monitors and pages, and with `cancelRuns` asks its unfinished runs to stop. Throws 404,
 * 409 `in_use` if another project's published flow calls it, and 409 `runs_open` if runs are unfinished.
 */
export async function deleteProject(
  deps: RunControlDeps,
  { orgId, projectId, cancelRuns, audited }: ProjectToDelete,
): Promise<void> {
  const { db } = deps;
  await db.orgTransaction(orgId, async (connection) => {
    const isThere = await lockProjectToDelete(connection, projectId);
    const project = required(isThere ? await findProject(connection, projectId) : null, "project");
    await refuseWhileUsed(connection, "project", projectId);
    const open_runs = cancelRuns ? 0 : await countOpenRuns(connection, projectId);
    if (open_runs > 0) {
      const detail = `${open_runs} runs are unfinished. Wait for them, or cancel them with ?cancel_runs=true.`;
      throw new Problem("runs_open", detail, { extra: { open_runs } });
    }
    await hideProject(connection, projectId);
    // Deleted explicitly, because they would otherwise keep running. Their schedules in Temporal are removed soon
    // afterwards and start nothing until then.
    await deleteTriggersOf(connection, projectId);
    await deleteMonitorsOf(connection, projectId);
    await revokePagesOf(connection, projectId);
    await forgetProject(connection, projectId);
    await deleteDraftSteps(connection, projectId);
    await recordDeleted(connection, audited, project);
  });
  // Done after the commit, because from then on no further runs of the project start.
  if (cancelRuns) await cancelOpenRuns(deps, { orgId, projectId, reason: "The project was deleted." });
}
