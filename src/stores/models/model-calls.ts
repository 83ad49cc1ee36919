import type { Db } from "../db.ts";

/** A call of a model that may have been paid for. */
export interface ModelCallRow {
  readonly call_id: string;
  readonly org_id: string;
  readonly project_id: string;
  readonly run_id: string;
  /** Place of the node in the run. */
  readonly path: string;
  /** Attempt of the node, from 1. */
  readonly attempt: number;
  /** Step of the node's conversation, from 1. */
  readonly step: number;
  readonly model: string;
  readonly connection_id: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Of the input tokens, those read from the endpoint's cache. */
  readonly cached_tokens: number;
  /** Null where the model has no price. */
  readonly cost_usd: number | null;
  readonly latency_ms: number;
  /** Why the model stopped, or the code of the failure. */
  readonly finish_reason: string;
  /** Whether the tokens are estimated from the length of the texts. */
  readonly estimated: boolean;
}

/** Adds a call; a write that is repeated adds nothing. */
export async function insertModelCall(db: Db, call: ModelCallRow): Promise<void> {
  await db.query(
    {
      name: "insert_model_call",
      text: `insert into model_calls (call_id, org_id, project_id, run_id, path, attempt, step, model, connection_id, input_tokens,
          output_tokens, cached_tokens, cost_usd, latency_ms, finish_reason, estimated)
        values ($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::text, $6::integer, $7::integer, $8::text, $9::uuid, $10::bigint,
          $11::bigint, $12::bigint, $13::numeric, $14::integer, $15::text, $16::boolean)
        on conflict (call_id) do nothing`,
    },
    [
      call.call_id,
      call.org_id,
      call.project_id,
      call.run_id,
      call.path,
      call.attempt,
      call.step,
      call.model,
      call.connection_id,
      call.input_tokens,
      call.output_tokens,
      call.cached_tokens,
      call.cost_usd,
      call.latency_ms,
      call.finish_reason,
      call.estimated,
    ],
  );
}
