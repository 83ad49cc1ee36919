import type { Db } from "../db.ts";

/** Most model calls that a node shows. */
const LISTED_CALLS = 500;

/** A model call as its node shows it. */
export interface NodeModelCall {
  readonly attempt: number;
  readonly step: number;
  readonly model: string;
  readonly connection_id: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  readonly cost_usd: number | null;
  readonly latency_ms: number;
  readonly finish_reason: string;
  readonly estimated: boolean;
  readonly created_at: string;
}

/** The model calls of a node of a run, in their order. */
export async function listModelCalls(db: Db, runId: string, path: string): Promise<NodeModelCall[]> {
  return db.query(
    `select attempt, step, model, connection_id, input_tokens::float8, output_tokens::float8, cached_tokens::float8,
        cost_usd::float8, latency_ms, finish_reason, estimated, created_at
      from model_calls where run_id = $1::uuid and path = $2::text order by created_at, call_id limit ${LISTED_CALLS}`,
    [runId, path],
  );
}
