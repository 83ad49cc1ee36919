import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";

const CALL = columns(`call_id uuid, org_id uuid, project_id uuid null, run_id uuid null, path text, attempt int,
  step int, model text, connection_id uuid null, input_tokens bigint, output_tokens bigint, cached_tokens bigint,
  cost_usd numeric null, latency_ms int, finish_reason text, estimated boolean, key_id uuid null`);

/** A call of a model that may have been paid for. */
export interface ModelCallRow extends RowOf<typeof CALL> {
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
  /** Input tokens that the endpoint read from its cache. */
  readonly cached_tokens: number;
  /** Null if the model has no price. */
  readonly cost_usd: number | null;
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
  return db.query(
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
  return db.any(`insert into model_calls ${CALL.into} on conflict (call_id) do nothing`, CALL.values(call));
}
