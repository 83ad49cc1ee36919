import { validateRunInputs } from "../../domain/flow/io/run-inputs.ts";
import type { JsonObject } from "../../domain/json.ts";
import { isTerminal, type RunInput } from "../../domain/runs/run.ts";
import type { Db } from "../../stores/db.ts";
import { getRun, insertRuns, requestCancelOfPending, type NewRun } from "../../stores/runs/runs.ts";
import { newRunRow, storeInputs, type RunLimits, type RunRequest } from "./create-run.ts";
import { startInput, type StartInputs } from "./start-inputs.ts";
import type { Parts } from "../parts.ts";

/** The row of a run before its insertion. */
export type NewBatchRun = NewRun;

/** A run of an experiment. */
export interface BatchRun
  extends Pick<NewRun, "org_id" | "run_id" | "project_id" | "flow_version" | "metadata">, Pick<RunRequest, "plan"> {
  readonly inputs: JsonObject;
  /** The run from which the dataset's row was created. */
  readonly started_by: string | undefined;
}

/** Prepares a run: its row, for insertion, and the input of its workflow. Or returns the problems of its inputs. */
export async function prepareBatchRun(
  { blobs, startInputs }: Parts<"blobs" | "startInputs">,
  limits: RunLimits & { readonly max_input_bytes: number },
  { plan, inputs: given, flow_version, ...run }: BatchRun,
): Promise<{ readonly row: NewRun; readonly start: Omit<RunInput, "plan"> } | { readonly problem: string }> {
  const { max_input_bytes } = limits;
  const { inputs, issues } = validateRunInputs(plan, given, { max_input_bytes }, { loc: [], reserved: [] });
  if (issues.length > 0) return { problem: issues.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ") };
  const started = { user_id: null, run_type: "batch", ran_by_type: "system", ran_by_id: null } as const;
  const request = { ...run, ...started, version: flow_version, plan };
  const row = newRunRow(request, await storeInputs(blobs, run.org_id, inputs), limits, 0);
  return { row: await startInputs.seal(row), start: startInput(row) };
}

/** Inserts runs that the caller starts itself. Existing runs are unchanged. */
export async function insertBatchRuns(connection: Db, rows: readonly NewRun[]): Promise<void> {
  if (rows.length > 0) await insertRuns(connection, rows);
}

/** Cancels runs that will never be started. */
export async function requestBatchCancel(connection: Db, runIds: readonly string[]): Promise<void> {
  if (runIds.length > 0) await requestCancelOfPending(connection, runIds);
}

/** The input of a run's workflow; null if the run has finished. */
export async function batchRunInput(
  startInputs: StartInputs,
  connection: Db,
  runId: string,
): Promise<Omit<RunInput, "plan"> | null> {
  const run = await getRun(connection, runId);
  return run === null || isTerminal(run.state) ? null : startInputs.open(run);
}
