import type { Db } from "../db.ts";

/** What has been written down of the trace that a run belongs to; without a trace id it follows from the run. */
export interface RunTraceRow {
  readonly trace_id: string | null;
  /** The span that has started the run. */
  readonly parent_id: string | null;
  readonly sampled: boolean | null;
  /** The run that it repeats. */
  readonly linked_run_id: string | null;
}

export async function insertRunTrace(
  db: Db,
  run: { readonly org_id: string; readonly run_id: string },
  { trace_id, parent_id, sampled, linked_run_id }: RunTraceRow,
): Promise<void> {
  await db.query(
    {
      name: "insert_run_trace",
      text: `insert into run_traces (run_id, org_id, trace_id, parent_id, sampled, linked_run_id)
        values ($1::uuid, $2::uuid, $3, $4, $5, $6::uuid) on conflict do nothing`,
    },
    [run.run_id, run.org_id, trace_id, parent_id, sampled, linked_run_id],
  );
}

export async function getRunTrace(db: Db, runId: string): Promise<RunTraceRow | null> {
  const rows = await db.query<RunTraceRow>(
    {
      name: "get_run_trace",
      text: "select trace_id, parent_id, sampled, linked_run_id from run_traces where run_id = $1::uuid",
    },
    [runId],
  );
  return rows[0] ?? null;
}
