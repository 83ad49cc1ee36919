import type { SampleCitation, SampleNode } from "../../domain/evals/evaluators/kind.ts";
import type { Json, JsonObject, StoredValue } from "../../domain/json.ts";
import type { RunError, RunState } from "../../domain/runs/run.ts";
import type { Db } from "../db.ts";
import { TERMINAL } from "../states.ts";

/** The parts of a run that are scored; long values are references. */
export interface SampleRun {
  readonly run_id: string;
  readonly state: RunState;
  readonly inputs: Readonly<Record<string, StoredValue>>;
  readonly outputs: Readonly<Record<string, StoredValue>> | null;
  readonly metadata: JsonObject;
  readonly error: RunError | null;
  /** Duration from start to finish. */
  readonly latency_ms: number | null;
  readonly usage: JsonObject;
  readonly nodes: readonly SampleNode[];
  readonly citations: readonly SampleCitation[] | null;
}

/** Most nodes of a run that an evaluator sees. */
const MAX_NODES = 1000;

/** The scored parts of finished runs. */
export async function sampleRuns(db: Db, runIds: readonly string[]): Promise<SampleRun[]> {
  return db.query(
    `select r.run_id, r.state, r.inputs, r.outputs, r.metadata, r.error, r.usage, r.citations,
        extract(epoch from r.finished_at - coalesce(r.started_at, r.created_at)) * 1000 as latency_ms,
        coalesce((select jsonb_agg(jsonb_build_object('node_id', n.node_id, 'type', n.type, 'state', n.state)
            order by coalesce(n.started_at, n.finished_at), n.path)
          from (select * from node_runs n where n.run_id = r.run_id limit ${MAX_NODES}) n), '[]') as nodes
      from runs r where r.org_id = current_org() and r.run_id = any ($1::uuid[])
        and r.state in (${TERMINAL})`,
    [runIds],
  );
}

/** A node in its run's record. */
export interface RecordedNode extends SampleNode {
  readonly run_id: string;
  readonly path: string;
  readonly output: Json;
  readonly truncated: boolean;
  readonly error: RunError | null;
  readonly latency_ms: number | null;
}

/** Nodes of a run whose outputs evaluators get, and the longest output (bytes of JSON). */
const MAX_DETAILED = 200;
const MAX_OUTPUT_BYTES = 64 * 1024;

/** The nodes of runs with their outputs, the top level first, in the order in which they started. */
export async function sampleNodes(db: Db, runIds: readonly string[]): Promise<RecordedNode[]> {
  return db.query(
    `select n.run_id, n.path, n.node_id, n.type, n.state, n.error, extract(epoch from n.finished_at - n.started_at) * 1000 as latency_ms,
        case when octet_length(n.output::text) <= ${MAX_OUTPUT_BYTES} then n.output end as output,
        n.truncated or coalesce(octet_length(n.output::text), 0) > ${MAX_OUTPUT_BYTES} as truncated
      from unnest($1::uuid[]) r(run_id)
      cross join lateral (select * from node_runs where org_id = current_org() and run_id = r.run_id
        order by path <> node_id, coalesce(started_at, finished_at), path limit ${MAX_DETAILED}) n`,
    [runIds],
  );
}
