import { z } from "zod";
import { invalid } from "../../domain/errors.ts";
import { GRANULARITIES, MAX_BUCKETS, previewOf, type Granularity } from "../../domain/evals/monitor.ts";
import { timeText } from "../../domain/timestamps.ts";
import { requireMonitor } from "../../services/evals/monitors.ts";
import { scoreStats } from "../../services/evals/monitor-stats.ts";
import { SAMPLE_VERDICTS, STAT_GROUPS, listSampledRuns, type SampledRun } from "../../stores/evals/monitor-stats.ts";
import { RUN_STATES } from "../../domain/runs/run.ts";
import type { Json, StoredValue } from "../../domain/json.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { asDeclared, givenId, named } from "../http/schemas.ts";
import { MONITOR, monitorParams, define } from "./monitors.ts";
import { evaluatorScoreSchema } from "./samples.ts";

const preview = z
  .record(z.string(), z.unknown())
  .describe(
    "Values keyed by node ID. Long text is cut; a value too long to store with the run is `{$truncated: true, size}`.",
  );

const sampledRunSchema = named("SampledRun", {
  run_id: z.uuid(),
  date: z.iso.datetime().describe("When the run finished."),
  flow_version: z.int(),
  state: z.enum(RUN_STATES),
  scored: z.boolean(),
  scores: z.array(evaluatorScoreSchema),
  inputs_preview: preview,
  outputs_preview: preview.nullable(),
});

function presentSampledRun(row: SampledRun): z.infer<typeof sampledRunSchema> {
  return asDeclared(sampledRunSchema, {
    ...row,
    date: row.ended_at,
    scored: row.scored_at !== null,
    inputs_preview: previews(row.inputs),
    outputs_preview: row.outputs && previews(row.outputs),
  });
}

function previews(values: Readonly<Record<string, StoredValue>>): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(values).map(([id, value]) => [
      id,
      "v" in value ? previewOf(value.v) : { $truncated: true, size: value.ref.size },
    ]),
  );
}

const DAY_MS = 86_400_000;
const evaluator_id = givenId.optional();

const figures = {
  eligible: z
    .int()
    .nullable()
    .describe(
      "Number of runs that match the filter; `null` for a flow version, because they are counted for all versions together.",
    ),
  sampled: z.int().nullable(),
  n: z.int().describe("Number of scores in the mean."),
  mean: z.number().nullable(),
  p10: z.number().nullable(),
  p50: z.number().nullable(),
  p90: z.number().nullable(),
  stddev: z.number().nullable().describe("Sample standard deviation (n − 1)."),
  pass_rate: z.number().nullable(),
  errors: z.int().describe("Scores that could not be made; no other figure counts them."),
};
const figuresSchema = z.object(figures);
const part = z.number().nullable();

const scoreStatsSchema = named("MonitorScoreStats", {
  from: z.iso.datetime().describe("Start of the first bucket."),
  to: z.iso.datetime().describe("End of the last bucket."),
  buckets: z.array(
    z.object({
      start: z.iso.datetime(),
      end: z.iso.datetime(),
      group: z.string().nullable().describe("The group; `null` without `group_by`."),
      ...figures,
    }),
  ),
  totals: figuresSchema,
  groups: z.array(z.object({ group: z.string(), totals: figuresSchema, previous_period: figuresSchema })),
  previous_period: z
    .object({ from: z.iso.datetime(), to: z.iso.datetime(), ...figures })
    .describe("The preceding period of the same length."),
  coverage: z.object({
    sampled: part.describe("Share of eligible runs that were sampled."),
    scored: part.describe("Share of sampled runs that were scored."),
    errored: part.describe("Share of scored runs that at least one evaluator could not score."),
  }),
});

/** `/v2/evals/monitors/{monitor_id}/score-stats` and `/sampled-runs`: results of the monitor. */
export const monitorResultOperations = [
  define({
    id: "getMonitorScoreStats",
    route: `GET ${MONITOR}/score-stats`,
    summary: "Get a monitor's score statistics",
    description:
      "Returns score statistics by the time the runs finished, in whole hours, days or weeks (UTC, weeks start on Monday). Without `evaluator_id` they cover all evaluators of the monitor.",
    params: monitorParams,
    query: z.object({
      from: timeText.optional().describe("Start of the time range (RFC 3339). Default: one day before `to`."),
      to: timeText.optional().describe("End of the time range (RFC 3339). Default: now."),
      granularity: z.enum(Object.keys(GRANULARITIES) as [Granularity, ...Granularity[]]).default("hour"),
      evaluator_id,
      group_by: z
        .enum(STAT_GROUPS)
        .optional()
        .describe("Returns a bucket per group, and the totals of each group in `groups`."),
    }),
    success: { 200: { description: "The statistics.", schema: scoreStatsSchema } },
    async handler({ params: { monitor_id }, query, principal: { org_id } }, { db }) {
      const to = query.to === undefined ? Date.now() : Date.parse(query.to);
      const from = query.from === undefined ? to - DAY_MS : Date.parse(query.from);
      return await db.org(org_id, async (connection) => {
        const monitor = await requireMonitor(connection, monitor_id);
        if (from >= to) throw invalid(["query", "from"], "Must be earlier than `to`");
        const evaluator_ids =
          query.evaluator_id === undefined ? monitor.evaluators.map((each) => each.evaluator_id) : [query.evaluator_id];
        const { granularity, group_by = null } = query;
        const stats = await scoreStats(connection, monitor_id, { from, to, granularity, evaluator_ids, group_by });
        if (stats === null)
          throw invalid(
            ["query", "from"],
            `At most ${MAX_BUCKETS} buckets: choose a shorter time range or longer buckets`,
          );
        return { status: 200, body: stats };
      });
    },
  }),
  define({
    id: "listMonitorSampledRuns",
    route: `GET ${MONITOR}/sampled-runs`,
    summary: "List a monitor's sampled runs",
    description: "Lists the runs that the monitor sampled, until the run or the sample is purged.",
    params: monitorParams,
    query: listQuery.extend({
      verdict: z
        .enum(SAMPLE_VERDICTS)
        .optional()
        .describe(
          "`failed`: at least one score failed; `error`: at least one score could not be made; `passed`: at least one passed and none failed.",
        ),
      evaluator_id: evaluator_id.describe(
        "Filters runs by the scores of this evaluator. Each run is returned with all its scores.",
      ),
      min_score: z
        .number()
        .optional()
        .describe("Only runs with a score of at least this value; booleans count as 1 and 0."),
      max_score: z.number().optional(),
    }),
    success: { 200: { description: "A page of runs.", schema: pageOf(sampledRunSchema) } },
    async handler({ params: { monitor_id }, query, principal: { org_id } }, { db, reads }) {
      await db.org(org_id, (connection) => requireMonitor(connection, monitor_id));
      const search = {
        evaluator_id: query.evaluator_id ?? null,
        verdict: query.verdict ?? null,
        min_score: query.min_score ?? null,
        max_score: query.max_score ?? null,
      };
      return listPage("monitor-sampled-runs", org_id, query, {
        filters: { monitor_id, ...search },
        fetch: (keyset) => reads.org(org_id, (connection) => listSampledRuns(connection, monitor_id, search, keyset)),
        idOf: (row) => row.run_id,
        present: presentSampledRun,
      });
    },
  }),
];
