import { Problem, invalid } from "../../domain/errors.ts";
import { jsonLength, type Json, type JsonObject } from "../../domain/json.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { PRODUCTION } from "../../domain/projects/environments.ts";
import { KEPT_PAYLOAD_CHARS } from "../../domain/triggers/firing.ts";
import { failFiring, finishFiring, noteFiringWaits, type DueFiring } from "../../stores/triggers/firings.ts";
import { forgetTriggerError, noteTriggerError, type TriggerRow } from "../../stores/triggers/triggers.ts";
import type { RunStarter } from "../../temporal/runs.ts";
import { isNoPlace } from "../accounts/quotas.ts";
import { createRun, type CreateRunDeps } from "../runs/create-run.ts";
import { requireInputs } from "../runs/run-inputs.ts";
import { findTriggerType } from "../../domain/triggers/trigger.ts";
import type { Parts } from "../parts.ts";

/** Thrown when a trigger cannot start a run and a retry would not help. The message is for its owner. */
export class TriggerFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "TriggerFault";
  }
}

export interface StartRunDeps extends Omit<CreateRunDeps, "starter">, Parts<"evaluation" | "maxInputBytes" | "flows"> {
  readonly starter: Pick<RunStarter, "start">;
}

type StartedRun = Awaited<ReturnType<typeof createRun>>;

/** A firing whose run can be started. */
export interface StartableFiring {
  readonly trigger: TriggerRow;
  /** The ID of the firing and of its run. */
  readonly run_id: string;
  readonly payload: JsonObject;
  /** The key whose quotas count the run, if a call with a key has fired the trigger. */
  readonly key_id?: string | null;
}

/**
 * Starts the run of a recorded firing, and records the outcome; a final failure is recorded in the trigger's row as
 * well. The same `run_id` again returns the existing run. Throws the Problem of a limit that is currently reached.
 */
export async function startFiring(
  deps: StartRunDeps,
  firing: StartableFiring,
): Promise<{ readonly run: StartedRun } | { readonly fault: TriggerFault }> {
  const { trigger, run_id, payload } = firing;
  try {
    const run = await startTriggeredRun(deps, firing);
    const isShort = jsonLength(payload) <= KEPT_PAYLOAD_CHARS;
    const kept = isShort && (await mayKeep(deps, trigger)) ? payload : null;
    await deps.db.org(trigger.org_id, (connection) => finishFiring(connection, run_id, kept));
    return { run };
  } catch (error) {
    const fault = lasting(error);
    if (!(fault instanceof TriggerFault)) throw error;
    await noteFailed(deps, firing, fault.message);
    return { fault };
  }
}

/** Records in the rows of the trigger and the firing why no run was started. */
export async function noteFailed(deps: StartRunDeps, firing: StartableFiring, message: string): Promise<void> {
  const { org_id, id } = firing.trigger;
  await deps.db.org(org_id, (connection) => noteTriggerError(connection, id, message));
  await keepFailed(deps, firing, message);
}

/** Records in the rows of the trigger and the firing why the firing waits; it is retried. */
export async function noteWaits(
  { db }: Parts<"db">,
  { org_id, trigger_id, run_id }: Pick<DueFiring, "org_id" | "trigger_id" | "run_id">,
  message: string,
): Promise<void> {
  await db.org(org_id, async (connection) => {
    await noteTriggerError(connection, trigger_id, message);
    await noteFiringWaits(connection, run_id, message);
  });
}

/** Records only in the firing's row why no run was started, so that the firing can be repeated. */
export async function keepFailed(
  deps: StartRunDeps,
  { trigger, run_id, payload }: StartableFiring,
  message: string,
): Promise<void> {
  const kept = (await mayKeep(deps, trigger)) ? payload : null;
  await deps.db.org(trigger.org_id, (connection) => failFiring(connection, run_id, message, kept));
}

/** Whether a payload may be kept; not if the flow redacts values, because the payload may contain them. */
async function mayKeep(
  { flows }: StartRunDeps,
  { org_id, project_id, kind, environment }: TriggerRow,
): Promise<boolean> {
  if (kind === "schedule") return true;
  try {
    const { plan } = await flows.get(org_id, project_id, -1, environment);
    return (plan.settings.redact ?? []).length === 0;
  } catch (error) {
    if (error instanceof Problem) return true;
    throw error;
  }
}

/**
 * Starts the run of a trigger: the published flow, with inputs computed from the payload by the trigger's expressions.
 * The same `run_id` again returns the existing run. Throws TriggerFault, and the Problem of a limit that is reached.
 */
async function startTriggeredRun(deps: StartRunDeps, firing: StartableFiring): Promise<StartedRun> {
  const { trigger, run_id, payload, key_id = null } = firing;
  const { org_id, id, project_id, kind, environment: name } = trigger;
  try {
    const { project, version, plan, environment } = await deps.flows.get(
      org_id,
      project_id,
      -1,
      name === PRODUCTION ? undefined : name,
    );
    const given = await inputsOf(deps, firing);
    const asked = { org_id, project_id, user_id: null, plan };
    const { inputs } = await requireInputs(deps, asked, given, { loc: ["inputs"], reserved: [] });
    const run = await createRun(deps, {
      org_id,
      run_id,
      project_id: project.project_id,
      version,
      plan,
      environment,
      inputs,
      user_id: null,
      started_by: kind === "run_event" && typeof payload["run_id"] === "string" ? payload["run_id"] : undefined,
      run_type: kind === "schedule" ? "scheduled" : "trigger",
      ran_by_type: "system",
      // The run's originator is the trigger.
      ran_by_id: id,
      key_id,
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

/** Converts a refusal that waiting cannot lift, such as a quota of 0, to a TriggerFault; returns other errors unchanged. */
function lasting(error: unknown): unknown {
  if (!(error instanceof Problem) || error.code !== "quota_exceeded" || isNoPlace(error)) return error;
  return new TriggerFault(error.message, { cause: error });
}

async function inputsOf(
  { evaluation }: StartRunDeps,
  { trigger: { org_id, inputs }, run_id, payload }: StartableFiring,
): Promise<Record<string, Json>> {
  const expressions = Object.entries(inputs);
  const scope = { nodes: {}, inputs: {}, run: { id: run_id, user_id: null, metadata: {} }, payload };
  const sources = expressions.map(([, source]) => ({ language: "cel" as const, source }));
  const values = await evaluation.sources(org_id, sources, scope);
  // Inputs are texts, or null if absent, so other values are converted to JSON.
  const asInput = (value: Json): Json => (value === null || typeof value === "string" ? value : JSON.stringify(value));
  return Object.fromEntries(expressions.map(([node], index) => [node, asInput(values[index] ?? null)]));
}

/** Starts a run like the trigger would, with the given payload or a sample. It does not count as a firing. Throws 422 and 429. */
export async function testTrigger(
  deps: StartRunDeps,
  trigger: TriggerRow,
  {
    payload: given,
    ...asked
  }: Pick<StartableFiring, "run_id" | "key_id"> & { readonly payload?: JsonObject | undefined },
): Promise<{ run_id: string; payload: JsonObject }> {
  const payload = given ?? findTriggerType(trigger.provider_id, trigger.trigger_id)?.sample_payload ?? {};
  try {
    const { run_id } = await startTriggeredRun(deps, { ...asked, trigger, payload });
    return { run_id, payload };
  } catch (error) {
    if (!(error instanceof TriggerFault)) throw error;
    throw invalid(["body", "payload"], error.message);
  }
}
