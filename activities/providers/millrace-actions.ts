import { Problem } from "../../src/domain/errors.ts";
import type { Json } from "../../src/domain/json.ts";
import { derivedId } from "../../src/domain/derived-id.ts";
import { ActionRefused, asText } from "../../src/domain/providers/action.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { admitNested } from "../../src/services/triggers/chain.ts";
import { createRun } from "../../src/services/runs/create-run.ts";
import type { CreateRunDeps } from "../../src/services/runs/create-run.ts";
import { requireInputs } from "../../src/services/runs/run-inputs.ts";
import { requireRun } from "../../src/services/runs/require-run.ts";
import type { FlowCache } from "../../src/services/projects/flow-cache.ts";
import { loadValue } from "../../src/platform/blobs/blobs.ts";
import type { QueryKnowledge } from "../nodes/knowledge.ts";
import { callerOf } from "./action-call.ts";
import type { ActionCall, ActionExecutor } from "./action-call.ts";

export interface MillraceDeps extends CreateRunDeps {
  readonly flows: FlowCache;
  readonly query: QueryKnowledge;
  readonly maxInputBytes: number;
}

/** Carries out the actions of provider `millrace`: requests that the organisation could make to the API itself. */
export function createMillraceActions(deps: MillraceDeps): ActionExecutor {
  const actions: Readonly<Record<string, (call: ActionCall) => Promise<Json>>> = {
    start_run: (call) => startRun(deps, call),
    get_run: ({ org_id, inputs }) => showRun(deps, org_id, asText(inputs["run_id"])),
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
  const flow = await deps.flows.get(org_id, asText(inputs["project_id"]), -1);
  const { project_id } = flow.project;
  const user_id = typeof inputs["user_id"] === "string" ? inputs["user_id"] : null;
  const given = await requireInputs(deps, { org_id, project_id, user_id, plan: flow.plan }, inputs["inputs"] ?? {});
  const run = await createRun(deps, {
    org_id,
    run_id,
    project_id,
    version: flow.version,
    plan: flow.plan,
    inputs: given.inputs,
    ignored_inputs: given.ignored,
    user_id,
    run_type: "api",
    ran_by_type: "system",
    ran_by_id: null,
  });
  return runResult(deps, run);
}

async function showRun(deps: MillraceDeps, orgId: string, runId: string): Promise<Json> {
  return runResult(deps, await requireRun(deps.db, orgId, runId));
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
