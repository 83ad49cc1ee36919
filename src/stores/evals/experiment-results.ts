import type { EvaluatorStatus, RowState } from "../../domain/evals/experiment.ts";
import type { JsonObject, StoredValue } from "../../domain/json.ts";
import { plannedAnew, type Db } from "../db.ts";
import { numberKeysetSql, type Keyset } from "../keyset.ts";
import { WITH_DATASET_ROW, type OpenRow, type RowEnd } from "./experiment-rows.ts";
import type { ScoreRow } from "./scores.ts";

// Pages and batches of an experiment are selected before anything is joined to them, so their cost does not grow with its rows, whatever
// statistics Postgres has. The sums are planned each time. They look up a row's scores by its run (`offset 0` prevents the reverse join
// order): another plan would read all rows for each score until the tables are analysed.

/** How many rows are in each state. */
export async function countStates(db: Db, experimentId: string): Promise<Array<{ state: RowState; n: number }>> {
  return db.query(
    `select state, count(*) as n from experiment_rows where org_id = current_org() and experiment_id = $1::uuid group by state`,
    [experimentId],
  );
}

/** How many rows are in each state, with the cost and time of the finished ones. */
export async function countRows(
  db: Db,
  experimentId: string,
): Promise<{
  counts: Array<{ state: RowState; n: number }>;
  p95: number | null;
  cost_usd: number;
  tokens: number;
  unrun: number;
}> {
  type Counted = { state: RowState; n: number; unrun: number; cost_usd: number | null; tokens: number | null };
  const counts = await db.query<Counted>(
    `select state, count(*) as n, sum(cost_usd) as cost_usd, sum(tokens)::bigint as tokens,
        count(*) filter (where latency_ms is null and state not in ('pending', 'running')) as unrun
      from experiment_rows where org_id = current_org() and experiment_id = $1::uuid group by state`,
    [experimentId],
  );
  const p95 = await db.value<number>(
    `select percentile_cont(0.95) within group (order by latency_ms) as p95
      from experiment_rows where org_id = current_org() and experiment_id = $1::uuid and latency_ms is not null`,
    [experimentId],
  );
  const sum = (pick: (row: Counted) => number | null): number =>
    counts.reduce((total, row) => total + (pick(row) ?? 0), 0);
  return {
    counts,
    p95: p95 ?? null,
    cost_usd: sum((row) => row.cost_usd),
    tokens: sum((row) => row.tokens),
    unrun: sum((row) => row.unrun),
  };
}

/** The results of an evaluator's version in an experiment. */
export type Summary = Omit<EvaluatorStatus, "ci95" | "baseline" | "pass_rate" | "name" | "expected" | "unscored"> & {
  /** Scores with a result, numeric or not. */
  readonly said: number;
  /** Scores that pass or fail. */
  readonly judged: number;
  readonly judge_cost_usd: number;
};

/** Summaries of an experiment's scores, one for each version of an evaluator. */
export async function summarise(db: Db, experimentId: string): Promise<Summary[]> {
  return db.query(
    plannedAnew(`select s.evaluator_id, s.evaluator_version, count(s.number) as n, avg(s.number) as mean,
          percentile_cont(0.5) within group (order by s.number) as median, stddev_samp(s.number) as stddev,
          count(*) filter (where s.error is not null) as errors, count(*) filter (where s.error is null) as said,
          count(*) filter (where s.passed) as passed, count(s.passed) as judged, coalesce(sum((s.usage->>'cost_usd')::float8), 0) as judge_cost_usd
        from experiment_rows x
        cross join lateral (select * from scores where run_id = x.run_id and source = 'evaluator' offset 0) s
        join experiments e on e.experiment_id = x.experiment_id
        join lateral jsonb_to_recordset(e.evaluators) p(evaluator_id uuid, version int)
          on p.evaluator_id = s.evaluator_id and p.version = s.evaluator_version
        where x.org_id = current_org() and x.experiment_id = $1::uuid group by 1, 2`),
    [experimentId],
  );
}

/** The differences of an evaluator's scores of the same rows in two experiments. */
export interface Difference {
  readonly evaluator_id: string;
  readonly n: number;
  readonly diff: number | null;
  readonly stddev: number | null;
  readonly higher: number;
  readonly lower: number;
  readonly same: number;
}

/** Scores that differ by less than this count as unchanged. */
const SAME = 1e-9;

/** The rows that two experiments have in common in the same repetition, with their scores by the same version of an evaluator. */
const PAIRS = `from experiment_rows x
  join experiment_rows y on y.experiment_id = $2::uuid and y.row_id = x.row_id and y.repetition = x.repetition
  cross join lateral (select * from scores where run_id = x.run_id and source = 'evaluator' and number is not null offset 0) s
  cross join lateral (select * from scores where run_id = y.run_id and evaluator_id = s.evaluator_id
    and evaluator_version = s.evaluator_version and source = 'evaluator' and number is not null offset 0) b
  where x.org_id = current_org() and y.org_id = current_org() and x.experiment_id = $1::uuid`;

/** Compares those rows that the same version of the evaluator scored in both experiments. */
export async function compareRows(db: Db, experimentId: string, baselineId: string): Promise<Difference[]> {
  return db.query(
    plannedAnew(`select s.evaluator_id, count(*) as n, avg(s.number - b.number) as diff, stddev_samp(s.number - b.number) as stddev,
          count(*) filter (where s.number - b.number > ${SAME}) as higher, count(*) filter (where s.number - b.number < -${SAME}) as lower,
          count(*) filter (where abs(s.number - b.number) <= ${SAME}) as same
        ${PAIRS} group by 1`),
    [experimentId, baselineId],
  );
}

/** How many rows two experiments have, and how many they have in common. */
export async function countPairs(
  db: Db,
  experimentId: string,
  otherId: string,
): Promise<{ readonly both: number; readonly only_here: number; readonly only_there: number }> {
  const { both, here, there } = await db.one<{ both: number; here: number; there: number }>(
    plannedAnew(`select count(y.row_id) filter (where x.row_id is not null) as both, count(x.row_id) as here, count(y.row_id) as there
        from (select row_id, repetition from experiment_rows where org_id = current_org() and experiment_id = $1::uuid) x
        full join (select row_id, repetition from experiment_rows where org_id = current_org() and experiment_id = $2::uuid) y
          using (row_id, repetition)`),
    [experimentId, otherId],
  );
  return { both, only_here: here - both, only_there: there - both };
}

/** A score that differs in the other experiment. */
export interface ChangedScore {
  readonly evaluator_id: string;
  readonly row_id: string;
  readonly repetition: number;
  readonly run_id: string;
  readonly with_run_id: string;
  readonly number: number;
  readonly with_number: number;
}

/** The scores that differ most between two experiments. */
export async function changedScores(
  db: Db,
  experimentId: string,
  otherId: string,
  limit: number,
): Promise<ChangedScore[]> {
  return db.query(
    plannedAnew(`select s.evaluator_id, x.row_id, x.repetition, x.run_id, y.run_id as with_run_id, s.number, b.number as with_number
        ${PAIRS} and abs(s.number - b.number) > ${SAME}
        order by abs(s.number - b.number) desc, x.place, s.evaluator_id limit $3::int`),
    [experimentId, otherId, limit],
  );
}

export interface RowScore extends Pick<ScoreRow, "value" | "passed" | "label" | "error"> {
  readonly evaluator_id: string;
  readonly evaluator_version: number;
  readonly reasoning: string | null;
}

export interface ScoredRow extends RowEnd, Pick<OpenRow, "row_id" | "repetition" | "run_id" | "inputs"> {
  readonly external_id: string | null;
  readonly expected_outputs: JsonObject;
  readonly outputs: Readonly<Record<string, StoredValue>> | null;
  readonly scores: readonly RowScore[];
  readonly baseline: { readonly run_id: string | null; readonly scores: readonly RowScore[] } | null;
}

const scoresOf = (
  alias: string,
): string => `coalesce((select jsonb_agg(jsonb_build_object('evaluator_id', s.evaluator_id,
    'evaluator_version', s.evaluator_version, 'value', s.value, 'passed', s.passed, 'label', s.label, 'reasoning', s.comment, 'error', s.error)
    order by s.evaluator_id) from scores s
    join lateral jsonb_to_recordset(e.evaluators) p(evaluator_id uuid, version int)
      on p.evaluator_id = s.evaluator_id and p.version = s.evaluator_version
    where s.run_id = ${alias}.run_id and s.source = 'evaluator'), '[]')`;

/** A page of an experiment's rows, in their order. */
export async function listExperimentRows(
  db: Db,
  experimentId: string,
  search: { readonly state: RowState | null; readonly row_id: string | null },
  page: Keyset,
): Promise<ScoredRow[]> {
  const { bound, compare, order } = numberKeysetSql(page, -1);
  return db.query(
    plannedAnew(`select x.place, x.row_id, r.external_id, x.repetition, x.run_id, x.state, x.error, x.latency_ms, x.cost_usd, x.tokens,
          r.inputs, r.expected_outputs, u.outputs, ${scoresOf("x")} as scores,
          case when b.experiment_id is null then null else jsonb_build_object('run_id', b.run_id, 'scores', ${scoresOf("b")}) end as baseline
        from (select * from experiment_rows where org_id = current_org() and experiment_id = $1::uuid
          and ($2::text is null or state = $2) and ($3::uuid is null or row_id = $3) and place ${compare} $4::int
          order by place ${order} limit $5::int) x
        ${WITH_DATASET_ROW}
        left join runs u on u.run_id = x.run_id
        left join experiment_rows b on b.experiment_id = e.baseline_experiment_id and b.row_id = x.row_id and b.repetition = x.repetition
        order by x.place ${order}`),
    [experimentId, search.state, search.row_id, bound, page.limit],
  );
}
