import type { Db } from "../db.ts";

/** A call of a model that may have been paid for. */
export interface ModelCallRow {
  readonly call_id: string;
  readonly org_id: string;
  /** Null for a judge's call. */
  readonly project_id: string | null;
  /** Null for a judge's call: it does not count as usage of the judged run. */
  readonly run_id: string | null;
  /** Path of the node in the run, or the caller outside of runs. */
  readonly path: string;
  /** Attempt of the node, from 1. */
  readonly attempt: number;
  /** Step of the node's conversation, from 1. */
  readonly step: number;
  readonly model: string;
  readonly connection_id: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Input tokens that the endpoint read from its cache. */
  readonly cached_tokens: number;
  /** Null if the model has no price. */
  readonly cost_usd: number | null;
  readonly latency_ms: number;
  /** Why the model stopped, or the code of the failure. */
  readonly finish_reason: string;
  /** Whether the tokens are estimated from the length of the texts. */
  readonly estimated: boolean;
  /** The key whose quotas count the outermost run. */
  readonly key_id: string | null;
}

/** Whether a call of this step of an attempt is recorded. */
export async function hasModelCall(
  db: Db,
  { run_id, path, attempt, step }: Pick<ModelCallRow, "run_id" | "path" | "attempt" | "step">,
): Promise<boolean> {
  return db.any(
    `select 1 from model_calls where run_id = $1::uuid and path = $2::text and attempt = $3::integer and step = $4::integer
      limit 1`,
    [run_id, path, attempt, step],
  );
}

export const USAGE_GROUPS = ["project", "model", "day"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageRow {
  /** A project's id ("judges" for the calls of evaluators), a model's name, or a day in UTC (2026-01-31). */
  readonly key: string;
  readonly calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  /** The cost of the calls whose model has a price. */
  readonly cost_usd: number;
  readonly calls_without_price: number;
  readonly estimated_calls: number;
}

const GROUP_KEYS: Readonly<Record<UsageGroup, string>> = {
  project: "coalesce(project_id::text, 'judges')",
  model: "model",
  day: "to_char(created_at at time zone 'UTC', 'YYYY-MM-DD')",
};

/** The usage of the organisation's calls, of one model or of all, from a time (inclusive) to another (exclusive). */
export async function sumUsage(
  db: Db,
  {
    group,
    from,
    to,
    model,
  }: { readonly group: UsageGroup; readonly from: string; readonly to: string; readonly model?: string | undefined },
): Promise<UsageRow[]> {
  return db.query<UsageRow>(
    `select ${GROUP_KEYS[group]} as key, count(*)::float8 as calls, sum(input_tokens)::float8 as input_tokens,
        sum(output_tokens)::float8 as output_tokens, sum(cached_tokens)::float8 as cached_tokens,
        coalesce(sum(cost_usd), 0)::float8 as cost_usd, (count(*) - count(cost_usd))::float8 as calls_without_price,
        (count(*) filter (where estimated))::float8 as estimated_calls
      from model_calls where org_id = current_org() and created_at >= $1::timestamptz and created_at < $2::timestamptz
        and ($3::text is null or model = $3::text)
      group by 1 order by 1`,
    [from, to, model ?? null],
  );
}

/** Records a call; false if it is recorded. */
export async function insertModelCall(db: Db, call: ModelCallRow): Promise<boolean> {
  return db.any(
    `insert into model_calls (call_id, org_id, project_id, run_id, path, attempt, step, model, connection_id, input_tokens,
        output_tokens, cached_tokens, cost_usd, latency_ms, finish_reason, estimated, key_id)
      values ($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::text, $6::integer, $7::integer, $8::text, $9::uuid, $10::bigint,
        $11::bigint, $12::bigint, $13::numeric, $14::integer, $15::text, $16::boolean, $17::uuid)
      on conflict (call_id) do nothing`,
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
      call.key_id,
    ],
  );
}
