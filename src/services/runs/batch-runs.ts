import type { Plan } from "../../domain/flow/plan/types.ts";
import { validateRunInputs } from "../../domain/flow/io/run-inputs.ts";
import type { JsonObject } from "../../domain/json.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { RunInput } from "../../domain/runs/run.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { Db } from "../../stores/db.ts";
import { getRun, insertRuns, requestCancelOfPending } from "../../stores/runs/runs.ts";
import type { NewRun } from "../../stores/runs/runs.ts";
import { newRunRow, storeInputs } from "./create-run.ts";
import type { RunLimits } from "./create-run.ts";
import { startInput } from "./start-inputs.ts";
import type { StartInputs } from "./start-inputs.ts";

/** The row of a run before its insertion. */
export type NewBatchRun = NewRun;

/** A run of an experiment. */
export interface BatchRun {
  readonly org_id: string;
  readonly run_id: string;
  readonly project_id: string;
  readonly flow_version: number;
  readonly plan: Plan;
  readonly inputs: JsonObject;
  readonly metadata: JsonObject;
  /** The run from which the dataset's row was created. */
  readonly started_by: string | undefined;
}

/** Prepares a run for insertion, or returns the problems of its inputs. Inserts nothing. */
export async function prepareBatchRun(
  blobs: BlobStore,
  limits: RunLimits & { readonly max_input_bytes: number },
  { plan, inputs: given, flow_version, ...run }: BatchRun,
): Promise<{ readonly row: NewRun } | { readonly problem: string }> {
  const { max_input_bytes } = limits;
  const { inputs, issues } = validateRunInputs(plan, given, { max_input_bytes }, { loc: [], reserved: [] });
  if (issues.length > 0) return { problem: issues.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ") };
  const request = {
    ...run,
    version: flow_version,
    plan,
    user_id: null,
    run_type: "batch",
    ran_by_type: "system",
    ran_by_id: null,
  } as const;
  return { row: newRunRow(request, await storeInputs(blobs, run.org_id, inputs), limits, 0) };
}

/** Seals redacted inputs, so that the rows can be inserted. */
export function sealBatchRuns(startInputs: StartInputs, rows: readonly NewRun[]): Promise<NewRun[]> {
  return Promise.all(rows.map((row) => startInputs.seal(row)));
}

/** Inserts runs that the caller starts itself. Existing runs are unchanged. */
export async function insertBatchRuns(connection: Db, rows: readonly NewRun[]): Promise<void> {
  if (rows.length > 0) await insertRuns(connection, rows);
}

/** Cancels runs that will never be started. */
export async function requestBatchCancel(connection: Db, runIds: readonly string[]): Promise<void> {
  if (runIds.length > 0) await requestCancelOfPending(connection, runIds);
}

/** The input of a workflow for a run that is not inserted yet. */
export const batchInputOf = (row: NewRun): Omit<RunInput, "plan"> => startInput(row);

/** The input of a run's workflow; null if the run has finished. */
export async function batchRunInput(
  startInputs: StartInputs,
  connection: Db,
  runId: string,
): Promise<Omit<RunInput, "plan"> | null> {
  const run = await getRun(connection, runId);
  return run === null || isTerminal(run.state) ? null : startInputs.open(run);
}
