import type { SampleCitation, SampleNode } from "../../domain/evals/evaluators/kind.ts";
import type { JsonObject, StoredValue } from "../../domain/json.ts";
import type { RunError, RunState } from "../../domain/runs/run.ts";
import type { Db } from "../db.ts";

/** What is scored of a run, values where they are kept. */
export interface SampleRun {
  readonly run_id: string;
  readonly state: RunState;
  readonly inputs: Readonly<Record<string, StoredValue>>;
  readonly outputs: Readonly<Record<string, StoredValue>> | null;
  readonly metadata: JsonObject;
  readonly error: RunError | null;
  /** From its start to its end. */
  readonly latency_ms: number | null;
  readonly usage: JsonObject;
  readonly nodes: readonly SampleNode[];
  readonly citations: readonly SampleCitation[] | null;
}

/** Nodes of a run that an evaluator is shown. */
const MAX_NODES = 1000;

/** What is scored of runs that have ended. */
export async function sampleRuns(db: Db, runIds: readonly string[]): Promise<SampleRun[]> {
  return db.query<SampleRun & Record<string, unknown>>(
    {
      name: "sample_runs",
      text: `select r.run_id, r.state, r.inputs, r.outputs, r.metadata, r.error, r.usage, r.citations,
          extract(epoch from r.finished_at - coalesce(r.started_at, r.created_at)) * 1000 as latency_ms,
          coalesce((select jsonb_agg(jsonb_build_object('node_id', n.node_id, 'type', n.type, 'state', n.state)
              order by coalesce(n.started_at, n.finished_at), n.path)
            from (select * from node_runs n where n.run_id = r.run_id limit ${MAX_NODES}) n), '[]') as nodes
        from runs r where r.org_id = current_org() and r.run_id = any ($1::uuid[])
          and r.state in ('COMPLETED', 'FAILED', 'CANCELLED')`,
    },
    [runIds],
  );
}
