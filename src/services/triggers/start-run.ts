import { Problem } from "../../domain/errors.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import type { Evaluation } from "../../platform/evaluation/evaluation.ts";
import type { Database } from "../../stores/db.ts";
import { dropFiring } from "../../stores/triggers/firings.ts";
import { forgetTriggerError, noteTriggerError } from "../../stores/triggers/triggers.ts";
import type { TriggerRow } from "../../stores/triggers/triggers.ts";
import type { RunStarter } from "../../temporal/runs.ts";
import { isNoPlace } from "../accounts/quotas.ts";
import type { FlowCache } from "../projects/flow-cache.ts";
import { createRun } from "../runs/create-run.ts";
import type { CreateRunDeps } from "../runs/create-run.ts";
import { requireInputs } from "../runs/run-inputs.ts";

/** Thrown when a trigger cannot start a run and a retry would not help. The message is for its owner. */
export class TriggerFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "TriggerFault";
  }
}

export interface StartRunDeps extends Omit<CreateRunDeps, "starter"> {
  readonly starter: Pick<RunStarter, "start">;
  readonly flows: FlowCache;
  readonly evaluation: Pick<Evaluation, "sources">;
  readonly maxInputBytes: number;
}

/**
 * Starts the run of a firing: the published flow, with inputs that the trigger's expressions make from the payload.
 * The same `run_id` again returns the existing run. Throws TriggerFault, and the Problem of a limit that is reached.
 */
export async function startTriggeredRun(
  deps: StartRunDeps,
  trigger: TriggerRow,
  runId: string,
  payload: JsonObject,
): Promise<Awaited<ReturnType<typeof createRun>>> {
  const { org_id, id, project_id, kind } = trigger;
  try {
    const { project, version, plan } = await deps.flows.get(org_id, project_id, -1);
    const given = await inputsOf(deps, trigger, runId, payload);
    const asked = { org_id, project_id, user_id: null, plan };
    const { inputs } = await requireInputs(deps, asked, given, { loc: ["inputs"], reserved: [] });
    const run = await createRun(deps, {
      org_id,
      run_id: runId,
      project_id: project.project_id,
      version,
      plan,
      inputs,
      user_id: null,
      run_type: kind === "schedule" ? "scheduled" : "trigger",
      ran_by_type: "system",
      // What ran it: the trigger.
      ran_by_id: id,
    });
    if (trigger.last_error !== null) await deps.db.org(org_id, (connection) => forgetTriggerError(connection, trigger));
    return run;
  } catch (error) {
    if (error instanceof NodeFailure) throw new TriggerFault(error.message, { cause: error });
    if (error instanceof Problem && error.status < 500 && error.status !== 429)
      throw new TriggerFault(error.message, { cause: error });
    throw error;
  }
}

/** A refusal that no waiting lifts, such as that of a quota of 0, as a TriggerFault; any other error as it is. */
export function lasting(error: unknown): unknown {
  if (!(error instanceof Problem) || error.code !== "quota_exceeded" || isNoPlace(error)) return error;
  return new TriggerFault(error.message, { cause: error });
}

/**
 * Records at the trigger why a firing has started no run, and takes the firing back. Throws anything but a
 * TriggerFault again.
 */
export async function noteFault(
  db: Database,
  { org_id, id }: TriggerRow,
  runId: string,
  error: unknown,
): Promise<void> {
  if (!(error instanceof TriggerFault)) throw error;
  await db.org(org_id, async (connection) => {
    await noteTriggerError(connection, id, error.message);
    await dropFiring(connection, runId);
  });
}

async function inputsOf(
  { evaluation }: StartRunDeps,
  { org_id, inputs }: TriggerRow,
  runId: string,
  payload: JsonObject,
): Promise<Record<string, Json>> {
  const expressions = Object.entries(inputs);
  const scope = { nodes: {}, inputs: {}, run: { id: runId, user_id: null, metadata: {} }, payload };
  const sources = expressions.map(([, source]) => ({ language: "cel" as const, source }));
  const values = await evaluation.sources(org_id, sources, scope);
  // Inputs are texts, or null for none. Other values become their JSON.
  const asInput = (value: Json): Json => (value === null || typeof value === "string" ? value : JSON.stringify(value));
  return Object.fromEntries(expressions.map(([node], index) => [node, asInput(values[index] ?? null)]));
}
