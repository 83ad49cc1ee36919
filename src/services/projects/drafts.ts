import { runnableProjects, type Principal } from "../../domain/accounts/principal.ts";
import { notFound, required, Problem } from "../../domain/errors.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import type { FlowProblemCode } from "../../domain/flow/validate/problems.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { Db } from "../../stores/db.ts";
import { insertDraftStep, latestDraftStep, type DraftStep } from "../../stores/projects/drafts.ts";
import { lockProject, takeFrozenVersion } from "../../stores/projects/projects.ts";
import { requireValidFlow, invalidFlow, isError, problemsOfOthers, type ReadyFlow } from "./deploy-flow.ts";
import type { Parts } from "../parts.ts";
import { keptRights } from "../../domain/accounts/kept-rights.ts";
import { contentHash } from "../../domain/flow/definition/content-hash.ts";
import { isUuid } from "../../domain/uuid.ts";
import { findFrozenDraft, insertFlowVersion } from "../../stores/projects/flow-versions.ts";
import type { DeployedFlow } from "./flow-cache.ts";

/** Problems of a flow that is too large to be kept even as a draft. */
export const TOO_LARGE: readonly FlowProblemCode[] = ["too_large", "too_deep", "too_many_nodes", "plan_too_large"];

/** An existing draft. */
export type Draft = DraftStep & { readonly flow: JsonObject };

/** The draft in its newest step; null if it was deleted or published, or there was none. */
export function draftOf(latest: DraftStep | null): Draft | null {
  return latest?.flow == null ? null : { ...latest, flow: latest.flow };
}

/** The draft of a project. Throws 404 if the project or its draft does not exist. */
export async function requireDraft(db: Db, projectId: string): Promise<Draft> {
  return required(draftOf(await latestDraftStep(db, projectId)), "draft");
}

interface DraftDeps extends Parts<"db" | "evaluation"> {
  readonly limits: FlowLimits;
}

/** The draft of a project, checked and compiled. Throws 404 without one, and 422 at `loc` if it cannot be deployed. */
export async function readyDraft(
  { db, evaluation, limits }: DraftDeps,
  orgId: string,
  projectId: string,
  loc: readonly string[],
): Promise<{ readonly draft: Draft; readonly flow: ReadyFlow }> {
  const draft = await db.org(orgId, (connection) => requireDraft(connection, projectId));
  return { draft, flow: await requireValidFlow(evaluation, orgId, draft.flow, limits, loc) };
}

/** A change of a project's draft. */
interface DraftChange {
  readonly project_id: string;
  /** The new flow; null deletes the draft. */
  readonly flow: JsonObject | null;
  readonly published_as?: number;
  readonly author: Principal;
  /** Throws 412 if the request was made for another state of the draft. */
  readonly requireMatch: (db: Db, latest: DraftStep | null) => Promise<void>;
}

/**
 * Adds a step to the draft of a project in the caller's transaction; an unchanged flow adds none. Throws 404 for an
 * unknown project, or if there is no draft to delete.
 */
export async function changeDraft(
  db: Db,
  { project_id, flow, published_as, author, requireMatch }: DraftChange,
): Promise<{ readonly before: Draft | null; readonly after: DraftStep }> {
  required(await lockProject(db, project_id), "project");
  const latest = await latestDraftStep(db, project_id);
  await requireMatch(db, latest);
  const before = draftOf(latest);
  if (before === null && flow === null) throw notFound("draft");
  if (before !== null && JSON.stringify(before.flow) === JSON.stringify(flow)) return { before, after: before };
  await insertDraftStep(db, {
    project_id,
    org_id: author.org_id,
    revision: (latest?.revision ?? 0) + 1,
    flow,
    ...(published_as !== undefined && { published_as }),
    changed_by_type: author.type,
    changed_by: author.id,
  });
  return { before, after: required(await latestDraftStep(db, project_id), "draft") };
}

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
    const made = { content_hash, notes: "", created_by: runner.id, rights };
    await insertFlowVersion(db, { project_id, org_id, version, ...flow, ...made });
    return { project, version, plan: flow.plan, environment: null };
  });
}
