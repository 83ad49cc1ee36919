import { Problem, notFound } from "../../domain/errors.ts";
import { callersOf } from "../../stores/projects/flow-versions.ts";
import { deleteProject as hideProject, lockProject } from "../../stores/projects/projects.ts";
import type { RunControlDeps } from "../runs/answer-pause.ts";
import { cancelOpenRuns, openRunCount } from "../runs/open-runs.ts";

/** Projects that a refusal lists. */
const MAX_LISTED = 100;

/**
 * Deletes a project, and with `cancelRuns` asks those of its runs that have not ended to stop. Throws 404, 409
 * `project_in_use` where another project's published flow calls it, and 409 `runs_open` where runs have not ended.
 */
export async function deleteProject(
  deps: RunControlDeps,
  { orgId, projectId, cancelRuns }: { orgId: string; projectId: string; cancelRuns: boolean },
): Promise<void> {
  const { db } = deps;
  await db.orgTransaction(orgId, async (connection) => {
    if (!(await lockProject(connection, projectId))) throw notFound("project");
    const used_by = await callersOf(connection, projectId, MAX_LISTED);
    const [first, ...others] = used_by;
    if (first) {
      const more = others.length === 0 ? "" : ` and ${others.length === MAX_LISTED - 1 ? "many" : others.length} more`;
      const detail = `The published flow of project ${first.project_id} (${first.name})${more} calls it.`;
      throw new Problem("project_in_use", detail, { extra: { used_by } });
    }
    const open_runs = cancelRuns ? 0 : await openRunCount(connection, projectId);
    if (open_runs > 0) {
      const detail = `${open_runs} of its runs have not ended. Wait for them, or cancel them with ?cancel_runs=true.`;
      throw new Problem("runs_open", detail, { extra: { open_runs } });
    }
    await hideProject(connection, projectId);
  });
  // Now that the project is gone no more of its runs begin.
  if (cancelRuns) await cancelOpenRuns(deps, { orgId, projectId, reason: "The project was deleted." });
}
