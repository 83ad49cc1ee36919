import type { Db } from "../db.ts";

/** The recorded trace of a run; without a trace ID, it is computed from the run's ID. */
export interface RunTraceRow {
  readonly trace_id: string | null;
  /** The span that started the run. */
  readonly parent_id: string | null;
  readonly sampled: boolean | null;
  /** The run that this one reruns. */
  readonly linked_run_id: string | null;
}

export async function getRunTrace(db: Db, runId: string): Promise<RunTraceRow | null> {
  return db.first("select trace_id, parent_id, sampled, linked_run_id from run_traces where run_id = $1::uuid", [
    runId,
  ]);
}
