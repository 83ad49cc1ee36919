import { scoreResultSchema } from "../../domain/evals/score-result.ts";
import { z } from "zod";
import { ALERT_METRICS, ALERT_SEVERITIES, alertSettingsSchema } from "../../domain/evals/alert.ts";
import { MONITOR_STATUSES, monitorFilterSchema, monitorStatsSchema, previewOf } from "../../domain/evals/monitor.ts";
import type { MonitorStatus } from "../../domain/evals/monitor.ts";
import { RUN_STATES } from "../../domain/runs/run.ts";
import type { Json, StoredValue } from "../../domain/json.ts";
import type { SampledRun } from "../../stores/evals/monitor-stats.ts";
import type { MonitorRow, MonitorDetail } from "../../stores/evals/monitors.ts";
import { asDeclared } from "../http/as-declared.ts";

const settingsSchema = z.object({
  monitor_id: z.uuid(),
  name: z.string(),
  description: z.string(),
  project_id: z.uuid(),
  flow_versions: z.array(z.int()).nullable().describe("Flow versions to sample; `null` means all."),
  environment: z.string().describe("The environment whose runs are scored."),
  evaluator_ids: z.array(z.uuid()),
  evaluators: z
    .array(z.object({ evaluator_id: z.uuid(), version: z.int() }))
    .describe("The pinned evaluator versions."),
  sampling_rate: z.number(),
  filter: monitorFilterSchema,
  max_per_hour: z.int(),
  enabled: z.boolean(),
});

export const monitorSchema = settingsSchema
  .extend({
    status: z
      .enum(MONITOR_STATUSES)
      .describe("`pending`: its schedule is being created; runs are sampled now and scored once the schedule exists."),
    stats: monitorStatsSchema,
    last_error: z
      .string()
      .nullable()
      .describe("Why runs were not scored, or the alert not evaluated, at the last attempt."),
    last_error_at: z.iso.datetime().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "Monitor" });

export function presentMonitor(row: MonitorDetail): z.infer<typeof monitorSchema> {
  return asDeclared(monitorSchema, {
    ...row,
    ...presentMonitorSettings(row),
    status: statusOf(row),
    stats: row,
  });
}

/** The settings of a monitor. */
export function presentMonitorSettings(row: MonitorRow) {
  return asDeclared(settingsSchema, {
    ...row,
    evaluator_ids: row.evaluators.map(({ evaluator_id }) => evaluator_id),
  });
}

function statusOf({ enabled, revision, applied_revision }: MonitorRow): MonitorStatus {
  if (!enabled) return "disabled";
  return applied_revision < revision ? "pending" : "active";
}

export const alertSchema = z
  .object({
    ...alertSettingsSchema.shape,
    state: z.object({
      severity: z.enum(ALERT_SEVERITIES).describe("State of the alert; `unknown` until the first evaluation."),
      since: z.iso.datetime().nullable(),
      observed: z
        .array(
          z.object({
            evaluator_id: z.uuid(),
            metric: z.enum(ALERT_METRICS),
            value: z.number().nullable(),
            samples: z.int(),
            breached: z
              .boolean()
              .nullable()
              .describe("Whether the condition was true when it last had data; `null` if it never had any."),
          }),
        )
        .describe("Last observed values, in the order of the conditions."),
      last_evaluated_at: z.iso.datetime().nullable(),
    }),
  })
  .meta({ id: "MonitorAlert" });

export function presentAlert({ alert, alert_state }: MonitorRow): z.infer<typeof alertSchema> {
  const observed = alert_state.observed.flatMap((figures, index) => {
    const condition = alert.conditions[index];
    return condition === undefined ? [] : [{ ...condition, ...figures }];
  });
  return asDeclared(alertSchema, { ...alert, state: { ...alert_state, observed } });
}

const preview = z
  .record(z.string(), z.unknown())
  .describe(
    "Values keyed by node ID. Long text is cut; a value too long to store with the run is `{$truncated: true, size}`.",
  );

export const sampledRunSchema = z
  .object({
    run_id: z.uuid(),
    date: z.iso.datetime().describe("When the run finished."),
    flow_version: z.int(),
    state: z.enum(RUN_STATES),
    scored: z.boolean(),
    scores: z.array(z.object({ evaluator_id: z.uuid(), evaluator_version: z.int(), ...scoreResultSchema.shape })),
    inputs_preview: preview,
    outputs_preview: preview.nullable(),
  })
  .meta({ id: "SampledRun" });

export function presentSampledRun(row: SampledRun): z.infer<typeof sampledRunSchema> {
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
