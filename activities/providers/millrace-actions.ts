import { isWithin } from "../../src/domain/accounts/kept-rights.ts";
import type { Role } from "../../src/domain/accounts/principal.ts";
import { Problem, notFound } from "../../src/domain/errors.ts";
import type { Json } from "../../src/domain/json.ts";
import { derivedId } from "../../src/domain/derived-id.ts";
import { ActionRefused, asText } from "../../src/domain/providers/action.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { admitNested } from "../../src/services/triggers/chain.ts";
import { createRun, type CreateRunDeps } from "../../src/services/runs/create-run.ts";
import { requireInputs } from "../../src/services/runs/run-inputs.ts";
import { requireRun } from "../../src/services/runs/require-run.ts";
import { reachOfVersion } from "../../src/services/projects/version-rights.ts";
import type { FlowCache } from "../../src/services/projects/flow-cache.ts";
import { loadValue } from "../../src/platform/blobs/blobs.ts";
import { keyOfCaller } from "../../src/stores/around.ts";
import type { QueryKnowledge } from "../nodes/knowledge.ts";
import { callerOf, type ActionCall, type ActionExecutor } from "./action-call.ts";

const NOT_USABLE =
  "The project or run does not exist, or the user who deployed this version of the flow has no right to use it.";

export interface MillraceDeps extends CreateRunDeps {
  readonly flows: FlowCache;
  readonly query: QueryKnowledge;
  readonly maxInputBytes: number;
}

/**
 * Carries out the actions of provider `millrace`: requests to the API itself, with the rights of the flow's version. A
 * resource beyond these rights fails like one that does not exist.
 */
export function createMillraceActions(deps: MillraceDeps): ActionExecutor {
  const actions: Readonly<Record<string, (call: ActionCall) => Promise<Json>>> = {
    start_run: (call) => startRun(deps, call),
    get_run: (call) => showRun(deps, call),
    query_knowledge_base: ({ org_id, inputs: { knowledge_base_id, ...query }, signal }) =>
      deps.query(org_id, asText(knowledge_base_id), query, signal),
  };
  return async (call) => {
    const { action, inputs, dry_run } = call;
    const rendered_request = { action: action.action_id, inputs };
    if (dry_run) return { outputs: null, rendered_request };
    const execute = actions[action.action_id];
    if (execute === undefined) throw new Error(`millrace has no action ${action.action_id}`);
    return { outputs: await execute(call).catch(refused), rendered_request };
  };
}

async function startRun(deps: MillraceDeps, call: ActionCall): Promise<Json> {
  const { org_id, inputs, idempotency_key } = call;
  const startedBy = callerOf(call);
  // A retry returns the run that was started before.
  const run_id = derivedId(startedBy, idempotency_key);
  await admitNested(deps.db, org_id, { startedBy }, run_id, deps.limits.max_nested_runs);
  const wanted = asText(inputs["project_id"]);
  const flow = await usable(call, async () => {
    await requireReach(deps, call, wanted, "editor");
    const { environment } = inputs;
    return deps.flows.get(org_id, wanted, -1, environment === undefined ? undefined : asText(environment));
  });
  const { project_id } = flow.project;
  const user_id = typeof inputs["user_id"] === "string" ? inputs["user_id"] : null;
  const given = await requireInputs(deps, { org_id, project_id, user_id, plan: flow.plan }, inputs["inputs"] ?? {});
  const run = await createRun(deps, {
    org_id,
    run_id,
    project_id,
    version: flow.version,
    plan: flow.plan,
    environment: flow.environment,
    inputs: given.inputs,
    ignored_inputs: given.ignored,
    user_id,
    started_by: startedBy,
    run_type: "api",
    ran_by_type: "system",
    ran_by_id: null,
    key_id: await deps.db.org(org_id, (connection) => keyOfCaller(connection, startedBy)),
  });
  return runResult(deps, run);
}

async function showRun(deps: MillraceDeps, call: ActionCall): Promise<Json> {
  const run = await usable(call, async () => {
    const found = await requireRun(deps.db, call.org_id, asText(call.inputs["run_id"]));
    await requireReach(deps, call, found.project_id, "viewer");
    return found;
  });
  return runResult(deps, run);
}

/** Finds a resource for a flow version; the failure does not reveal whether it is missing or not allowed. */
async function usable<Found>({ version }: ActionCall, find: () => Promise<Found>): Promise<Found> {
  try {
    return await find();
  } catch (error) {
    if (version === undefined || !(error instanceof Problem) || error.code !== "not_found") throw error;
    throw new NodeFailure("not_found_or_not_allowed", NOT_USABLE, { cause: error });
  }
}

/** Throws 404 if the version that makes a call lacks the rights of role `needed` in a project. */
async function requireReach(
  { db }: MillraceDeps,
  { org_id, version }: ActionCall,
  projectId: string,
  needed: Role,
): Promise<void> {
  if (version === undefined) return;
  const reach = await db.org(org_id, (connection) => reachOfVersion(connection, version, needed));
  if (!isWithin(reach, projectId)) throw notFound("project");
}

async function runResult({ blobs }: MillraceDeps, run: Awaited<ReturnType<typeof requireRun>>): Promise<Json> {
  const outputs = Object.entries(run.outputs ?? {}).map(
    async ([id, value]) => [id, await loadValue(blobs, value)] as const,
  );
  return {
    run_id: run.run_id,
    state: run.state,
    outputs: run.outputs === null ? null : Object.fromEntries(await Promise.all(outputs)),
    error: run.error === null ? null : { code: run.error.code, message: run.error.message },
  };
}

/** Turns the API's errors into the action's. */
function refused(error: unknown): never {
  if (!(error instanceof Problem)) throw error;
  if (error.status === 429 || error.status >= 500)
    throw new NodeFailure(error.code, error.message, { retryable: true, cause: error });
  if (error.code === "too_many_nested_runs") throw new NodeFailure(error.code, error.message, { cause: error });
  throw new ActionRefused("inputs", error.message);
}
