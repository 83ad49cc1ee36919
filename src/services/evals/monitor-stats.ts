import { GRANULARITIES, bucketsOf, type Granularity } from "../../domain/evals/monitor.ts";
import { timestampAt } from "../../domain/timestamps.ts";
import type { Db } from "../../stores/db.ts";
import {
  countSeen,
  summariseScores,
  type ScoreSummary,
  type SeenRuns,
  type StatGroup,
  type StatsRange,
  type SummaryRow,
} from "../../stores/evals/monitor-stats.ts";

/** Statistics of a period. */
interface Figures extends Omit<ScoreSummary, "passes" | "judged"> {
  readonly pass_rate: number | null;
  /** Null per flow version, because runs that were not sampled are only counted for all versions together. */
  readonly eligible: number | null;
  readonly sampled: number | null;
}

interface StatsRequest {
  readonly from: number;
  readonly to: number;
  readonly granularity: Granularity;
  readonly evaluator_ids: readonly string[];
  readonly group_by: StatGroup | null;
}

/** The statistics of a monitor over whole buckets; null if there would be too many. */
export async function scoreStats(db: Db, monitorId: string, request: StatsRequest) {
  const { granularity, evaluator_ids, group_by } = request;
  const buckets = bucketsOf(request.from, request.to, granularity);
  if (buckets === null) return null;
  const first = buckets[0]?.[0] ?? request.from;
  const last = buckets.at(-1)?.[1] ?? request.to;
  const range: StatsRange = {
    from: timestampAt(first),
    to: timestampAt(last),
    previous_from: timestampAt(2 * first - last),
    bucket_seconds: GRANULARITIES[granularity],
  };
  const summaries = await summariseScores(db, monitorId, evaluator_ids, range, group_by);
  const seen = await countSeen(db, monitorId, range);
  const groups = [...new Set(summaries.flatMap(({ group }) => (group === null ? [] : [group])))].toSorted();
  const key = ({ period, start, group }: Pick<SummaryRow, "period" | "start" | "group">): string =>
    `${period} ${start ?? ""} ${group ?? ""}`;
  const summaryOf = new Map(summaries.map((row) => [key(row), row]));
  const seenIn = new Map(seen.map((row) => [`${row.period} ${row.start ?? ""}`, row]));
  const counted = group_by !== "flow_version";
  const figures = (
    period: SummaryRow["period"],
    start: string | null,
    group: string | null,
    runs: SeenRuns | undefined,
  ) => figuresOf(summaryOf.get(key({ period, start, group })), counted || group === null ? (runs ?? NOTHING) : null);
  const current = sumOf(seen.filter(({ period }) => period === "current"));
  const previous = sumOf(seen.filter(({ period }) => period === "previous"));
  return {
    from: range.from,
    to: range.to,
    buckets: buckets.flatMap(([start, end]) => {
      const at = timestampAt(start);
      const inGroups = group_by === null ? [null] : groups;
      return inGroups.map((group) => ({
        start: at,
        end: timestampAt(end),
        group,
        ...figures("current", at, group, seenIn.get(`current ${at}`)),
      }));
    }),
    totals: figures("current", null, null, current),
    groups: groups.map((group) => ({
      group,
      totals: figures("current", null, group, current),
      previous_period: figures("previous", null, group, previous),
    })),
    previous_period: {
      from: range.previous_from,
      to: range.from,
      ...figures("previous", null, null, previous),
    },
    coverage: {
      sampled: part(current.sampled, current.eligible),
      scored: part(current.scored, current.sampled),
      errored: part(current.errored, current.scored),
    },
  };
}

const NOTHING: SeenRuns = { period: "current", start: null, eligible: 0, sampled: 0, scored: 0, errored: 0 };

const NO_SCORES = { n: 0, mean: null, p10: null, p50: null, p90: null, stddev: null, passes: 0, judged: 0, errors: 0 };

function figuresOf(summary: SummaryRow | undefined, runs: SeenRuns | null): Figures {
  const { n, mean, p10, p50, p90, stddev, passes, judged, errors } = summary ?? NO_SCORES;
  const { eligible = null, sampled = null } = runs ?? {};
  return { eligible, sampled, n, mean, p10, p50, p90, stddev, pass_rate: part(passes, judged), errors };
}

function sumOf(rows: readonly SeenRuns[]): SeenRuns {
  return rows.reduce(
    (sum, { eligible, sampled, scored, errored }) => ({
      ...sum,
      eligible: sum.eligible + eligible,
      sampled: sum.sampled + sampled,
      scored: sum.scored + scored,
      errored: sum.errored + errored,
    }),
    NOTHING,
  );
}

function part(of: number, whole: number): number | null {
  return whole === 0 ? null : of / whole;
}
