import { createHash } from "node:crypto";
import { z } from "zod";
import type { Json, JsonObject } from "../json.ts";
import { RUN_TYPES, TERMINAL_STATES } from "../runs/run.ts";

/** An installation's limits for monitors. */
export interface MonitorLimits {
  /** Of an organisation. */
  readonly max_monitors: number;
  readonly max_evaluators_per_monitor: number;
  /** The shortest window of an alert's condition. */
  readonly min_window_seconds: number;
  /** What a monitor's max_per_hour may be. */
  readonly max_sampled_runs_per_hour: number;
  readonly retention_days: number;
}

/** Which runs a monitor looks at. */
export const monitorFilterSchema = z.strictObject({
  states: z.array(z.enum(TERMINAL_STATES)).min(1).max(3).default(["COMPLETED", "FAILED"]),
  run_types: z
    .array(z.enum(RUN_TYPES))
    .min(1)
    .max(RUN_TYPES.length)
    .default(["api", "trigger", "scheduled"])
    .describe("Runs of experiments (`batch`) and runs within runs (`sub_workflow`) only where they are named."),
  user_ids: z.array(z.string().min(1).max(200)).min(1).max(100).optional().describe("Any of these."),
  tags: z.array(z.string().min(1).max(100)).min(1).max(20).optional().describe("All of these."),
  metadata: z
    .record(z.string().min(1).max(100), z.union([z.string().max(500), z.number(), z.boolean()]))
    .refine((members) => Object.keys(members).length <= 20, "At most 20 members")
    .optional()
    .describe("Members that the run's metadata has, with these values."),
});
export type MonitorFilter = z.output<typeof monitorFilterSchema>;

export const MONITOR_STATUSES = ["active", "pending", "disabled"] as const;
export type MonitorStatus = (typeof MONITOR_STATUSES)[number];

/** How the runs that a monitor has seen were dealt with. */
export interface MonitorStats {
  /** Runs that matched its filter. */
  readonly eligible: number;
  readonly sampled: number;
  /** Runs that every evaluator has scored or failed to score. */
  readonly scored: number;
  /** Runs among them that some evaluator could not score. */
  readonly errored: number;
}

/** Members of a run that decide whether a monitor samples it. */
export interface EndedRun {
  readonly run_id: string;
  readonly org_id: string;
  readonly project_id: string | null;
  readonly flow_version: number;
  readonly state: string;
  readonly run_type: string;
  readonly ended_at: string;
}

/** Additional data of a run, for filters that ask for it. */
export interface RunLabels {
  readonly user_id: string | null;
  readonly tags: readonly string[];
  readonly metadata: JsonObject;
}

/** What picks the runs of a monitor. */
export interface RunSelection {
  readonly org_id: string;
  readonly project_id: string;
  readonly flow_versions: readonly number[] | null;
  readonly filter: MonitorFilter;
  readonly created_at: string;
}

/** Whether a monitor looks at a run, as far as is known without its labels. */
export function isEligible(monitor: RunSelection, run: EndedRun): boolean {
  const { filter, flow_versions } = monitor;
  return (
    monitor.org_id === run.org_id &&
    monitor.project_id === run.project_id &&
    // A monitor ignores events from before its creation.
    monitor.created_at <= run.ended_at &&
    (flow_versions === null || flow_versions.includes(run.flow_version)) &&
    (filter.states as readonly string[]).includes(run.state) &&
    (filter.run_types as readonly string[]).includes(run.run_type)
  );
}

/** Whether a filter asks for labels. */
export function asksForLabels({ user_ids, tags, metadata }: MonitorFilter): boolean {
  return user_ids !== undefined || tags !== undefined || metadata !== undefined;
}

/** Whether a run has the labels that a filter asks for. */
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
 * Whether a run is in the sample of this rate. It depends on the run's id alone: whoever asks again, or another monitor, gets
 * the same answer, and a larger rate takes all that a smaller one does.
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

/** Longest text that a preview of a run shows of one value. */
const PREVIEW_CHARS = 500;

/** A value as previews show it: a long one as the beginning of its text. */
export function previewOf(value: Json): Json {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= PREVIEW_CHARS ? value : `${text.slice(0, PREVIEW_CHARS).toWellFormed()}…`;
}

export const GRANULARITIES = { hour: 3600, day: 86_400, week: 7 * 86_400 } as const;
export type Granularity = keyof typeof GRANULARITIES;
export const MAX_BUCKETS = 1000;
/** A Monday: weeks begin there, and hours and days with them. */
const EPOCH_MS = Date.UTC(1970, 0, 5);

/** The whole buckets that a time lies in, as [start, end) pairs (ms); null where there are more than may be asked for. */
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
