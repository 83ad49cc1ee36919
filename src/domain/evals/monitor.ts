import { PRODUCTION } from "../projects/environments.ts";
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Json, JsonObject } from "../json.ts";
import { RUN_TYPES, TERMINAL_STATES } from "../runs/run.ts";
import { beginning } from "../marks.ts";

export const monitorLimitsSchema = z
  .object({
    max_monitors: z.int().describe("Maximum number of monitors in the organisation."),
    used: z.int(),
    max_evaluators_per_monitor: z.int(),
    min_window_seconds: z.int().describe("Shortest window of an alert condition, in seconds."),
    max_sampled_runs_per_hour: z.int().describe("Highest value that a monitor's `max_per_hour` can have."),
    retention_days: z.int().describe("How long samples and statistics are kept, in days."),
  })
  .meta({ id: "MonitorLimits" });
export type MonitorLimits = Readonly<Omit<z.output<typeof monitorLimitsSchema>, "used">>;

/** Draft runs are trials, so monitors skip them. */
const MONITORED_RUN_TYPES = RUN_TYPES.filter((type) => type !== "draft");

/** The runs that a monitor considers. */
export const monitorFilterSchema = z.strictObject({
  states: z.array(z.enum(TERMINAL_STATES)).min(1).max(3).default(["COMPLETED", "FAILED"]),
  run_types: z
    .array(z.enum(MONITORED_RUN_TYPES, `One of ${MONITORED_RUN_TYPES.join(", ")}`))
    .min(1)
    .max(MONITORED_RUN_TYPES.length)
    .default(["api", "trigger", "scheduled"])
    .describe(
      "Run types to sample. Runs of experiments (`batch`) and child runs (`sub_workflow`) are sampled only if you name them.",
    ),
  user_ids: z.array(z.string().min(1).max(200)).min(1).max(100).optional().describe("Only runs of any of these users."),
  tags: z.array(z.string().min(1).max(100)).min(1).max(20).optional().describe("Only runs with all these tags."),
  metadata: z
    .record(z.string().min(1).max(100), z.union([z.string().max(500), z.number(), z.boolean()]))
    .refine((members) => Object.keys(members).length <= 20, "Must have at most 20 entries")
    .optional()
    .describe("Only runs whose metadata contains these fields with these values."),
});
export type MonitorFilter = z.output<typeof monitorFilterSchema>;

export const MONITOR_STATUSES = ["active", "pending", "disabled"] as const;
export type MonitorStatus = (typeof MONITOR_STATUSES)[number];

export const monitorStatsSchema = z
  .object({
    eligible: z.int().describe("Runs that matched the filter."),
    sampled: z.int(),
    scored: z.int().describe("Runs that every evaluator has scored or failed to score."),
    errored: z.int().describe("Scored runs that at least one evaluator could not score."),
  })
  .describe("Counts over the period for which statistics are kept.");
export type MonitorStats = Readonly<z.output<typeof monitorStatsSchema>>;

/** Fields of a finished run that decide whether a monitor samples it. */
export interface EndedRun {
  readonly run_id: string;
  readonly org_id: string;
  readonly project_id: string | null;
  readonly flow_version: number;
  readonly state: string;
  readonly run_type: string;
  readonly ended_at: string;
}

/** Further fields of a run, loaded only for filters that need them. */
export interface RunLabels {
  readonly environment?: string | null;
  readonly user_id: string | null;
  readonly tags: readonly string[];
  readonly metadata: JsonObject;
}

export interface RunSelection {
  readonly org_id: string;
  readonly project_id: string;
  readonly flow_versions: readonly number[] | null;
  readonly environment: string;
  readonly filter: MonitorFilter;
  readonly created_at: string;
}

/** Whether a monitor considers a run, as far as that is known without the run's labels. */
export function isEligible(monitor: RunSelection, run: EndedRun): boolean {
  const { filter, flow_versions } = monitor;
  return (
    monitor.org_id === run.org_id &&
    monitor.project_id === run.project_id &&
    // A monitor ignores runs that finished before it was created.
    monitor.created_at <= run.ended_at &&
    (flow_versions === null || flow_versions.includes(run.flow_version)) &&
    (filter.states as readonly string[]).includes(run.state) &&
    (filter.run_types as readonly string[]).includes(run.run_type)
  );
}

/** Whether a run belongs to a monitor's environment; runs of explicit versions belong to production. */
export function isInEnvironment({ environment }: RunSelection, labels: RunLabels | undefined): boolean {
  return (labels?.environment ?? PRODUCTION) === environment;
}

function asksForLabels({ user_ids, tags, metadata }: MonitorFilter): boolean {
  return user_ids !== undefined || tags !== undefined || metadata !== undefined;
}

export function hasLabels(filter: MonitorFilter, labels: RunLabels | undefined): boolean {
  if (!asksForLabels(filter)) return true;
  if (labels === undefined) return false;
  const { user_ids, tags = [], metadata = {} } = filter;
  return (
    (user_ids === undefined || (labels.user_id !== null && user_ids.includes(labels.user_id))) &&
    tags.every((tag) => labels.tags.includes(tag)) &&
    Object.entries(metadata).every(
      ([name, value]) => Object.hasOwn(labels.metadata, name) && labels.metadata[name] === value,
    )
  );
}

const HASH_BITS = 48;

/**
 * Whether a run is in the sample of this rate. The result depends only on the run's ID, so that it is the same at every evaluation and in
 * every monitor, and a larger rate includes all runs of a smaller one.
 */
export function isSampled(runId: string, rate: number): boolean {
  const hash = createHash("sha256")
    .update(runId)
    .digest()
    .readUIntBE(0, HASH_BITS / 8);
  return hash / 2 ** HASH_BITS < rate;
}

/** The input of a monitor's workflow. */
export interface WatchInput {
  readonly org_id: string;
  readonly monitor_id: string;
}

/** Longest text of one value in the preview of a run. */
const PREVIEW_CHARS = 500;

/** A value for previews; a long one becomes the beginning of its text. */
export function previewOf(value: Json): Json {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= PREVIEW_CHARS ? value : `${beginning(text.toWellFormed(), PREVIEW_CHARS)}…`;
}

export const GRANULARITIES = { hour: 3600, day: 86_400, week: 7 * 86_400 } as const;
export type Granularity = keyof typeof GRANULARITIES;
export const MAX_BUCKETS = 1000;
/** A Monday, so that weeks, days and hours all begin at multiples from here. */
const EPOCH_MS = Date.UTC(1970, 0, 5);

/** The buckets that cover a time range, as [start, end) pairs (ms); null if there are more than allowed. */
export function bucketsOf(from: number, to: number, granularity: Granularity): Array<readonly [number, number]> | null {
  const size = GRANULARITIES[granularity] * 1000;
  const first = Math.floor((from - EPOCH_MS) / size);
  const count = Math.ceil((to - EPOCH_MS) / size) - first;
  if (count > MAX_BUCKETS) return null;
  return Array.from({ length: count }, (_, index) => {
    const start = EPOCH_MS + (first + index) * size;
    return [start, start + size] as const;
  });
}
