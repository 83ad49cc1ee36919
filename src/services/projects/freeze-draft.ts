import { keptRights } from "../../domain/accounts/kept-rights.ts";
import { runnableProjects } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem, notFound, required } from "../../domain/errors.ts";
import { contentHash } from "../../domain/flow/definition/content-hash.ts";
import { isUuid } from "../../domain/uuid.ts";
import { findFrozenDraft, insertFlowVersion } from "../../stores/projects/flow-versions.ts";
import { lockProject, takeFrozenVersion } from "../../stores/projects/projects.ts";
import { invalidFlow, isError, problemsOfOthers } from "./deploy-flow.ts";
import { readyDraft } from "./drafts.ts";
import type { DraftDeps } from "./drafts.ts";
import type { DeployedFlow } from "./flow-cache.ts";

/**
 * Stores the draft of a project as a hidden version with the rights of the caller, so that later changes of the draft
 * do not affect the run. Throws 403 for public keys, 404 without a draft, and 422 at `loc` if the draft cannot be
 * deployed.
 */
export async function freezeDraft(
  deps: DraftDeps,
  runner: Principal,
  projectId: string,
  loc: readonly string[],
): Promise<DeployedFlow> {
  if (runner.access === "public") throw new Problem("forbidden", "A public API key cannot run a draft.");
  if (!isUuid(projectId)) throw notFound("draft");
  const { flow } = await readyDraft(deps, runner.org_id, projectId, loc);
  return deps.db.orgTransaction(runner.org_id, async (db) => {
    const project = required(await lockProject(db, projectId), "flow");
    const { project_id, org_id } = project;
    const problems = await problemsOfOthers(db, flow.definition, project_id, runnableProjects(runner));
    if (problems.some(isError)) throw invalidFlow(problems, loc);
    const content_hash = contentHash(flow.definition);
    const rights = keptRights(runner);
    const known = await findFrozenDraft(db, project_id, content_hash, rights);
    if (known) return { project, ...known, environment: null };
    const version = await takeFrozenVersion(db, project_id);
    const created_by = runner.id;
    await insertFlowVersion(db, {
      project_id,
      org_id,
      version,
      ...flow,
      content_hash,
      notes: "",
      created_by,
      rights,
    });
    return { project, version, plan: flow.plan, environment: null };
  });
}
