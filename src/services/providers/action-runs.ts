import { invalid, invalidParts, notFound, required } from "../../domain/errors.ts";
import type { Json } from "../../domain/json.ts";
import { MAX_ACTION_SECONDS } from "../../domain/providers/action-run.ts";
import { storeValue } from "../../platform/blobs/blobs.ts";
import type { Db } from "../../stores/db.ts";
import {
  findActionRun,
  insertActionRun,
  type ActionRunRow,
  type NewActionRun,
} from "../../stores/providers/action-runs.ts";
import { findConnection } from "../../stores/providers/connections.ts";
import type { ProviderJobs } from "../../temporal/providers.ts";
import type { CheckInputs } from "./action-inputs.ts";
import { requireAction, requireProvider } from "./providers.ts";
import type { Parts } from "../parts.ts";

export interface ActionRunDeps extends Parts<"db" | "blobs" | "logger"> {
  readonly providerJobs: ProviderJobs;
  readonly checkInputs: CheckInputs;
}

export interface ActionRunRequest extends Omit<NewActionRun, "inputs" | "timeout_seconds"> {
  readonly inputs: Json;
  readonly timeout_seconds: number | undefined;
}

/** The action run with this ID. Throws 404. */
export async function requireActionRun(db: Db, actionRunId: string): Promise<ActionRunRow> {
  return required(await findActionRun(db, actionRunId), "action run");
}

/**
 * Accepts a run of an action and starts it. Once its row exists, the run is certain to start: if Temporal does not
 * respond, the starter does so later. The same id again returns the existing run. Throws 404 for an unknown provider
 * or action, and 422 for inputs that break the schema.
 */
export async function createActionRun(deps: ActionRunDeps, request: ActionRunRequest): Promise<ActionRunRow> {
  const { db } = deps;
  const { org_id, action_run_id, provider_id, action_id, connection_id } = request;
  const { provider, action, known } = await db.org(org_id, async (connection) => {
    const found = await requireProvider(connection, provider_id);
    return {
      provider: found,
      action: await requireAction(connection, found, action_id),
      known: connection_id === null ? null : await findConnection(connection, connection_id),
    };
  });
  if (connection_id !== null && known === null) throw notFound("connection");
  if (known !== null && known.provider_id !== provider_id) {
    throw invalid(["body", "connection_id"], `The connection must be of this provider; it is of ${known.provider_id}`);
  }
  if (known === null && action.requires_connection) {
    throw invalid(["body", "connection_id"], `Actions of ${provider.name} need a connection`);
  }
  const issues = await deps.checkInputs(org_id, provider, action, request.inputs);
  if (issues.length > 0) throw invalidParts(["body", "inputs"], issues);
  const inputs = await storeValue(deps.blobs, org_id, request.inputs);
  const timeout_seconds = Math.min(request.timeout_seconds ?? action.timeout_seconds, MAX_ACTION_SECONDS);
  const run = await db.org(org_id, async (connection) => {
    await insertActionRun(connection, { ...request, inputs, timeout_seconds });
    return requireActionRun(connection, action_run_id);
  });
  if (run.finished_at !== null) return run;
  await deps.providerJobs
    .startAction(run)
    .catch((err: unknown) =>
      deps.logger.warn({ err, action_run_id }, "could not start the action; it will be retried"),
    );
  return run;
}
