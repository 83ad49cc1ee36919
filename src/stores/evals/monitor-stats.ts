import type { AlertCondition } from "../../domain/evals/alert.ts";
import type { MonitorStats } from "../../domain/evals/monitor.ts";
import type { StoredValue } from "../../domain/json.ts";
import type { RunState } from "../../domain/runs/run.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { keysetSql, type Keyset } from "../keyset.ts";
import type { RowScore } from "./experiment-results.ts";
import type { TakenRun } from "./monitor-runs.ts";

/** A summary of scores over some time. */
export interface ScoreSummary {
  /** Scores that count in the mean. */
  readonly n: number;
  readonly mean: number | null;
  readonly p10: number | null;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly stddev: number | null;
  readonly passes: number;
  /** Scores that have passed or failed. */
  readonly judged: number;
  readonly errors: number;
}

/** The summary of one bucket, or of the whole time; of one group, or of all. */
export interface SummaryRow extends ScoreSummary {
  readonly period: "current" | "previous";
  readonly start: string | null;
  readonly group: string | null;
}

export const STAT_GROUPS = ["evaluator", "flow_version"] as const;
export type StatGroup = (typeof STAT_GROUPS)[number];

export interface StatsRange {
  readonly from: string;
  readonly to: string;
  /** Start of the preceding window, which is as long as this one. */
  readonly previous_from: string;
  readonly bucket_seconds: number;
}

const GROUP_COLUMNS: { readonly [Group in StatGroup]: string } = {
  evaluator: "evaluator_id::text",
  flow_version: "flow_version::text",
};

const SUMMARY = `count(number) as n, avg(number) as mean, percentile_cont(array[0.1, 0.5, 0.9]) within group (order by number) as percentiles,
  stddev_samp(number) as stddev, count(*) filter (where passed) as passes, count(passed) as judged, count(*) filter (where failed) as errors`;

/**
 * Summaries of a monitor's scores: of each bucket, of the whole time range, and of the preceding range; all by group if one is named.
 * Everything it reads is in one index.
 */
export async function summariseScores(
  db: Db,
  monitorId: string,
  evaluatorIds: readonly string[],
  { from, to, previous_from, bucket_seconds }: StatsRange,
  groupBy: StatGroup | null,
): Promise<SummaryRow[]> {
  const group = groupBy === null ? "null::text" : GROUP_COLUMNS[groupBy];
  const grouped = groupBy === null ? "(period, start), (period)" : "(period, start, grp), (period, grp), (period)";
  const rows = await db.query<SummaryRow & { percentiles: Array<number | null> | null }>(
    // The preceding range is one bucket, because only its totals are needed.
    `select period, start, ${groupBy === null ? "null::text" : "grp"} as "group", ${SUMMARY} from (
        select number, passed, failed, ${group} as grp, case when ended_at >= $3::timestamptz then 'current' else 'previous' end as period,
          case when ended_at >= $3::timestamptz
            then date_bin(make_interval(secs => $6::float8), ended_at, '1970-01-05T00:00:00Z') end as start
        from eval_monitor_scores where org_id = current_org() and monitor_id = $1::uuid and evaluator_id = any ($2::uuid[])
          and ended_at >= $5::timestamptz and ended_at < $4::timestamptz) s
      group by grouping sets (${grouped})
      having not (grouping(start) = 0 and period = 'previous')`,
    [monitorId, evaluatorIds, from, to, previous_from, bucket_seconds],
  );
  return rows.map(({ percentiles, ...row }) => {
    const [p10 = null, p50 = null, p90 = null] = percentiles ?? [];
    return { ...row, p10, p50, p90 };
  });
}

/** Counts of the runs that a monitor has seen. */
export interface SeenRuns extends MonitorStats, Pick<SummaryRow, "period" | "start"> {}

/** Counts of a monitor's runs by bucket: whole hours. */
export async function countSeen(
  db: Db,
  monitorId: string,
  { from, to, previous_from, bucket_seconds }: StatsRange,
): Promise<SeenRuns[]> {
  return db.query(
    `select case when hour >= $2::timestamptz then 'current' else 'previous' end as period,
        case when hour >= $2::timestamptz then date_bin(make_interval(secs => $5::float8), hour, '1970-01-05T00:00:00Z') end as start,
        sum(eligible) as eligible, sum(sampled) as sampled, sum(scored) as scored, sum(errored) as errored
      from eval_monitor_hours where org_id = current_org() and monitor_id = $1::uuid and hour >= $4::timestamptz
        and hour < $3::timestamptz
      group by 1, 2`,
    [monitorId, from, to, previous_from, bucket_seconds],
  );
}

/** The summary of a condition's window, and when it was read. */
export interface WindowSummary extends Omit<ScoreSummary, "p50" | "p90" | "stddev"> {
  readonly now: string;
}

/** The windows of conditions up to now, in the conditions' order. */
export async function summariseWindows(
  db: Db,
  monitorId: string,
  conditions: readonly AlertCondition[],
): Promise<WindowSummary[]> {
  return db.query(
    `select now() as now, o.*
      from rows from (jsonb_to_recordset($2::jsonb) as (evaluator_id uuid, window_seconds int))
        with ordinality as c(evaluator_id, window_seconds, place)
      cross join lateral (
        select count(number) as n, avg(number) as mean, percentile_cont(0.1) within group (order by number) as p10,
          count(*) filter (where passed) as passes, count(passed) as judged, count(*) filter (where failed) as errors
        from eval_monitor_scores where org_id = current_org() and monitor_id = $1::uuid and evaluator_id = c.evaluator_id
          and ended_at > now() - make_interval(secs => c.window_seconds)) o
      order by c.place`,
    [monitorId, jsonb(conditions.map(({ evaluator_id, window_seconds }) => ({ evaluator_id, window_seconds })))],
  );
}

/** Which scores of a window cause the alert. */
export type Blame =
  | { readonly kind: "errors" }
  | { readonly kind: "judged"; readonly passed: boolean }
  | { readonly kind: "numbers"; readonly below: boolean; readonly threshold: number };

/** The runs in a condition's window that contribute to its alert, the worst first. */
export async function blamedRuns(
  db: Db,
  monitorId: string,
  { evaluator_id, window_seconds }: Pick<AlertCondition, "evaluator_id" | "window_seconds">,
  blame: Blame,
  limit: number,
): Promise<string[]> {
  const [where, order, value] =
    blame.kind === "errors"
      ? ["failed and $5::float8 is null", "ended_at desc", null]
      : blame.kind === "judged"
        ? ["passed = ($5::float8 = 1)", "ended_at desc", blame.passed ? 1 : 0]
        : blame.below
          ? ["number <= $5::float8", "number asc, ended_at desc", blame.threshold]
          : ["number >= $5::float8", "number desc, ended_at desc", blame.threshold];
  return db.column(
    `select run_id from eval_monitor_scores where org_id = current_org() and monitor_id = $1::uuid and evaluator_id = $2::uuid
      and ended_at > now() - make_interval(secs => $3::int) and ${where} order by ${order} limit $4::int`,
    [monitorId, evaluator_id, window_seconds, limit, value],
  );
}

export const SAMPLE_VERDICTS = ["passed", "failed", "error"] as const;
export type SampleVerdict = (typeof SAMPLE_VERDICTS)[number];

export interface SampleSearch {
  readonly evaluator_id: string | null;
  readonly verdict: SampleVerdict | null;
  readonly min_score: number | null;
  readonly max_score: number | null;
}

/** A run that a monitor has sampled. */
export interface SampledRun extends Pick<TakenRun, "run_id" | "ended_at" | "flow_version"> {
  readonly state: RunState;
  readonly inputs: Readonly<Record<string, StoredValue>>;
  readonly outputs: Readonly<Record<string, StoredValue>> | null;
  /** `null` until the scores are made. */
  readonly scored_at: string | null;
  readonly scores: readonly RowScore[];
}

/** A page of a monitor's sampled runs, by their ids. */
export async function listSampledRuns(
  db: Db,
  monitorId: string,
  search: SampleSearch,
  page: Keyset,
): Promise<SampledRun[]> {
  const { bound, compare, order } = keysetSql(page);
  const filtered = Object.values(search).some((value) => value !== null);
  const said = (
    condition: string,
  ): string => `exists (select from eval_monitor_scores s where s.monitor_id = t.monitor_id
    and s.run_id = t.run_id and ($4::uuid is null or s.evaluator_id = $4) and ${condition})`;
  // If one of several scores failed, the run counts as failed; likewise with errors.
  const matching = `and ${said(`($5::text is null or case $5 when 'passed' then s.passed when 'failed' then not s.passed else s.failed end)
    and ($6::float8 is null or s.number >= $6) and ($7::float8 is null or s.number <= $7)`)}
    and ($5::text is distinct from 'passed' or not ${said("s.passed is false")})`;
  return db.query(
    `select t.run_id, t.ended_at, t.flow_version, t.scored_at, r.state, r.inputs, r.outputs,
        coalesce((select jsonb_agg(jsonb_build_object('evaluator_id', m.evaluator_id, 'evaluator_version', m.evaluator_version,
          'value', s.value, 'passed', s.passed, 'label', s.label, 'reasoning', s.comment, 'error', case when m.failed then
            coalesce(s.error, jsonb_build_object('code', 'not_scored', 'message', 'The run could not be scored.')) end)
          order by m.evaluator_id)
          from eval_monitor_scores m left join scores s on s.run_id = m.run_id and s.source = 'evaluator'
            and s.evaluator_id = m.evaluator_id and s.evaluator_version = m.evaluator_version
          where m.monitor_id = t.monitor_id and m.run_id = t.run_id), '[]') as scores
      from (select * from eval_monitor_runs t where t.org_id = current_org() and t.monitor_id = $1::uuid and t.run_id ${compare} $2::uuid
          ${filtered ? matching : ""} order by t.run_id ${order} limit $3::int) t
      join runs r on r.run_id = t.run_id
      order by t.run_id ${order}`,
    filtered
      ? [monitorId, bound, page.limit, search.evaluator_id, search.verdict, search.min_score, search.max_score]
      : [monitorId, bound, page.limit],
  );
}
