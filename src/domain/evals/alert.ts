import { z } from "zod";
import { wholeNumber } from "../schema-parts.ts";

export const ALERT_METRICS = ["mean", "pass_rate", "p10", "error_rate", "sample_count"] as const;
const NO_DATA_MODES = ["ignore", "keep", "alert", "ok"] as const;
export const ALERT_SEVERITIES = ["unknown", "ok", "alert", "no_data"] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

/** Longest time window of a condition. */
const MAX_WINDOW_SECONDS = 7 * 86_400;
const MAX_CONDITIONS = 10;
const MAX_RENOTIFY_SECONDS = 7 * 86_400;

const condition = z
  .strictObject({
    evaluator_id: z.uuid().toLowerCase(),
    metric: z
      .enum(ALERT_METRICS)
      .describe(
        "Measured over the scores in the window. `error_rate`: share of scores that could not be made; `sample_count`: number of scores.",
      ),
    op: z
      .enum(["gte", "gt", "lte", "lt"])
      .describe("Comparison of the metric with `threshold` that triggers the alert."),
    threshold: z.number(),
    recovery_threshold: z
      .number()
      .nullable()
      .default(null)
      .describe(
        "Value that the metric must reach to end the alert. `null` means that the alert ends once the condition is false.",
      ),
    window_seconds: wholeNumber(1, MAX_WINDOW_SECONDS),
    min_samples: wholeNumber(1, 1_000_000)
      .default(1)
      .describe("With fewer samples in the window, the condition has no data."),
  })
  .refine(
    ({ op, threshold, recovery_threshold }) =>
      recovery_threshold === null || (isBelow(op) ? recovery_threshold >= threshold : recovery_threshold <= threshold),
    { path: ["recovery_threshold"], message: "Must be on the good side of the threshold" },
  );

export const alertSettingsSchema = z.strictObject({
  enabled: z.boolean(),
  conditions: z.array(condition).max(MAX_CONDITIONS),
  combine: z
    .enum(["any", "all"])
    .describe(
      "`any`: one true condition triggers the alert; `all`: every condition must be true. Conditions that are ignored for missing data do not count.",
    ),
  no_data: z
    .enum(NO_DATA_MODES)
    .describe(
      "How a condition without data counts: `ignore`: not at all (if all are ignored, the severity is `no_data`); `keep`: as before; `alert`: as true; `ok`: as false.",
    ),
  renotify_seconds: wholeNumber(60, MAX_RENOTIFY_SECONDS)
    .nullable()
    .describe("Seconds after which an ongoing alert is reported again; `null` means never."),
  silenced_until: z.iso
    .datetime({ offset: true })
    .nullable()
    .describe("Nothing is reported until this time; an alert that is still active is reported afterwards."),
});
export type AlertSettings = z.output<typeof alertSettingsSchema>;
export type AlertCondition = AlertSettings["conditions"][number];

export const NO_ALERT: AlertSettings = {
  enabled: false,
  conditions: [],
  combine: "any",
  no_data: "ignore",
  renotify_seconds: null,
  silenced_until: null,
};

/** The measurement for a condition. */
export interface Observation {
  /** Null if there is nothing to measure. */
  readonly value: number | null;
  readonly samples: number;
}

export interface AlertState {
  readonly severity: AlertSeverity;
  readonly since: string | null;
  readonly last_evaluated_at: string | null;
  /** In the order of the conditions; empty before the first evaluation. */
  readonly observed: ReadonlyArray<Observation & { readonly breached: boolean | null }>;
  /** When the alert was last reported; null after its resolution was reported. */
  readonly told_at: string | null;
}

export const UNKNOWN_ALERT: AlertState = {
  severity: "unknown",
  since: null,
  last_evaluated_at: null,
  observed: [],
  told_at: null,
};

/** What to report: that an alert began, that it continues, or that it ended. */
export type AlertNotice = "triggered" | "reminded" | "resolved" | null;

/**
 * The next state of an alert. Only changes are reported: once when the alert is triggered and once when it is resolved, apart from
 * reminders. While the alert is silenced nothing is reported; afterwards the alert is compared with the last report.
 */
export function nextAlert(
  settings: AlertSettings,
  before: AlertState,
  observations: readonly Observation[],
  now: Date,
): { readonly state: AlertState; readonly notice: AlertNotice } {
  const at = now.toISOString();
  const votes: boolean[] = [];
  const observed = settings.conditions.map((each, index) => {
    const observation = observations[index] ?? { value: null, samples: 0 };
    const was = before.observed[index]?.breached ?? null;
    const vote = voteOf(each, observation, was, settings.no_data);
    if (vote !== null) votes.push(vote);
    // A condition that does not count keeps its last result, which its recovery threshold needs later.
    return { value: observation.value, samples: observation.samples, breached: vote ?? was };
  });
  const severity = severityOf(settings, before, votes);
  const since = severity === before.severity ? (before.since ?? at) : at;
  const notice = noticeOf(settings, before, severity, now);
  const told_at = notice === "resolved" ? null : notice === null ? before.told_at : at;
  return { state: { severity, since, last_evaluated_at: at, observed, told_at }, notice };
}

/** Whether a condition asks for an alert; null if it does not count, because it lacks data. */
function voteOf(
  each: AlertCondition,
  { value, samples }: Observation,
  was: boolean | null,
  noData: AlertSettings["no_data"],
): boolean | null {
  const enough = each.metric === "sample_count" || samples >= each.min_samples;
  if (value === null || !enough) {
    if (noData === "ignore") return null;
    return noData === "keep" ? was : noData === "alert";
  }
  if (HOLDS[each.op](value, each.threshold)) return true;
  if (was !== true || each.recovery_threshold === null) return false;
  const { op, recovery_threshold } = each;
  return isBelow(op) ? value < recovery_threshold : value > recovery_threshold;
}

function severityOf({ combine, no_data }: AlertSettings, before: AlertState, votes: readonly boolean[]): AlertSeverity {
  if (votes.length === 0) return no_data === "ignore" ? "no_data" : before.severity;
  return (combine === "any" ? votes.includes(true) : !votes.includes(false)) ? "alert" : "ok";
}

function noticeOf(
  { renotify_seconds, silenced_until }: AlertSettings,
  { told_at }: AlertState,
  severity: AlertSeverity,
  now: Date,
): AlertNotice {
  if (silenced_until !== null && Date.parse(silenced_until) > now.getTime()) return null;
  if (severity === "ok") return told_at === null ? null : "resolved";
  if (severity !== "alert") return null;
  if (told_at === null) return "triggered";
  const isDue = renotify_seconds !== null && now.getTime() - Date.parse(told_at) >= renotify_seconds * 1000;
  return isDue ? "reminded" : null;
}

type Operator = "gte" | "gt" | "lte" | "lt";

/** Whether the condition is met by low values. */
export function isBelow(op: Operator): boolean {
  return op === "lt" || op === "lte";
}

type Comparison = (value: number, threshold: number, tolerance?: number) => boolean;

export const HOLDS: Readonly<Record<Operator, Comparison>> = {
  gte: (value, threshold, tolerance = 0) => value >= threshold - tolerance,
  gt: (value, threshold, tolerance = 0) => value > threshold + tolerance,
  lte: (value, threshold, tolerance = 0) => value <= threshold + tolerance,
  lt: (value, threshold, tolerance = 0) => value < threshold - tolerance,
};
