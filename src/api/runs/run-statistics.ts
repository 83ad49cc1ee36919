import { z } from "zod";
import { visibleProjects } from "../../domain/accounts/principal.ts";
import { timestampAt } from "../../domain/timestamps.ts";
import { firstIdOf } from "../../domain/uuid.ts";
import { ID_LEADS_MS } from "../../stores/runs/run-lists.ts";
import { bucketRuns, openRunsByState, runLatencies } from "../../stores/runs/run-statistics.ts";
import { operationsOf } from "../http/operation.ts";
import { named } from "../http/schemas.ts";

const BUCKETS = 24;
const HOUR_MS = 3_600_000;

const count = z.int().min(0);
const counts = {
  completed: count,
  failed: count,
  cancelled: count,
  open: count.describe("Unfinished runs, including paused runs."),
  paused: count.describe("Paused runs, which wait for an approval."),
};
const statisticsSchema = named("RunStatistics", {
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  buckets: z
    .array(z.object({ start: z.iso.datetime(), ...counts }))
    .describe(
      `The time range in ${BUCKETS} equal parts, oldest first, with the runs created in each, counted by current state.`,
    ),
  totals: z.object(counts),
  failure_rate: z.number().nullable().describe("Failed ÷ (completed + failed); `null` if both are zero."),
  latency: z.object({
    p50_ms: z.number().nullable(),
    p95_ms: z.number().nullable(),
  }),
  live: z
    .array(z.object({ state: z.string(), runs: count, oldest_at: z.iso.datetime() }))
    .describe("Unfinished runs by state, whenever they were created."),
});

const define = operationsOf({ tag: "Runs", auth: "secret" });

/** `/v2/run-statistics`: figures about the organisation's runs. */
export const runStatisticsOperations = [
  define({
    id: "getRunStatistics",
    route: "GET /v2/run-statistics",
    summary: "Count runs over time",
    description:
      "Counts runs created in the last `hours`, by state, with latency percentiles. Covers only projects the caller can see.",
    query: z.object({
      hours: z.int().min(1).max(720).default(24).describe("Length of the time range in hours, up to now."),
    }),
    success: { 200: { description: "The counts.", schema: statisticsSchema } },
    async handler({ query: { hours }, principal }, { reads }) {
      const { org_id } = principal;
      const among = visibleProjects(principal);
      const to = Date.now();
      const since = to - hours * HOUR_MS;
      const window = { firstId: firstIdOf(since - ID_LEADS_MS), from: timestampAt(since), among };
      const seconds = (hours * 3600) / BUCKETS;
      const [buckets, { p50_ms, p95_ms }, live] = await reads.org(org_id, async (connection) => [
        await bucketRuns(connection, { ...window, seconds, buckets: BUCKETS }),
        await runLatencies(connection, window),
        await openRunsByState(connection, among),
      ]);
      const sum = (of: keyof typeof counts): number => buckets.reduce((all, bucket) => all + bucket[of], 0);
      const totals = {
        completed: sum("completed"),
        failed: sum("failed"),
        cancelled: sum("cancelled"),
        open: sum("open"),
        paused: sum("paused"),
      };
      const ended = totals.completed + totals.failed;
      const body = {
        from: window.from,
        to: timestampAt(to),
        buckets,
        totals,
        failure_rate: ended === 0 ? null : totals.failed / ended,
        latency: { p50_ms, p95_ms },
        live,
      };
      return { status: 200, body };
    },
  }),
];
