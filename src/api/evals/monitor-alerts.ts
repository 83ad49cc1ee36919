import { z } from "zod";
import { alertSettingsSchema, ALERT_METRICS, ALERT_SEVERITIES } from "../../domain/evals/alert.ts";
import { changeAlert, requireMonitor } from "../../services/evals/monitors.ts";
import type { MonitorDetail, MonitorRow } from "../../stores/evals/monitors.ts";
import { ETAG, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { asDeclared, named } from "../http/schemas.ts";
import { MONITOR, monitorParams, define } from "./monitors.ts";

const alertSchema = named("MonitorAlert", {
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
});

function presentAlert({ alert, alert_state }: MonitorRow): z.infer<typeof alertSchema> {
  const observed = alert_state.observed.flatMap((figures, index) => {
    const condition = alert.conditions[index];
    return condition === undefined ? [] : [{ ...condition, ...figures }];
  });
  return asDeclared(alertSchema, { ...alert, state: { ...alert_state, observed } });
}

const changeBody = z.strictObject(alertSettingsSchema.shape).partial().meta({ id: "MonitorAlertChange" });

const toResponse = (row: MonitorDetail) => tagged(presentAlert(row), revisionTag(row.revision));

/** `/v2/evals/monitors/{monitor_id}/alert`: when to report that scores of production runs have changed. */
export const monitorAlertOperations = [
  define({
    id: "getMonitorAlert",
    route: `GET ${MONITOR}/alert`,
    summary: "Get a monitor's alert",
    description:
      "Returns the alert's conditions, the last observed values and its state with the time of the last change.",
    params: monitorParams,
    success: { 200: { description: "The alert.", schema: alertSchema, headers: ETAG } },
    async handler({ params: { monitor_id }, principal: { org_id } }, deps) {
      return toResponse(await deps.db.org(org_id, (connection) => requireMonitor(connection, monitor_id)));
    },
  }),
  define({
    id: "changeMonitorAlert",
    route: `PATCH ${MONITOR}/alert`,
    summary: "Change a monitor's alert",
    description:
      "Changes the alert; omitted fields keep their values. `conditions` replaces all conditions, which are then evaluated again. The events `evals.monitor.alert.triggered` and `evals.monitor.alert.resolved` report when the alert starts and ends.",
    params: monitorParams,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: {
      passRate: {
        enabled: true,
        conditions: [
          {
            evaluator_id: "0197f0a0-0000-7000-8000-000000000002",
            metric: "pass_rate",
            op: "lt",
            threshold: 0.9,
            recovery_threshold: 0.95,
            window_seconds: 3600,
            min_samples: 20,
          },
        ],
      },
      silence: { silenced_until: "2030-01-01T00:00:00Z" },
    },
    success: { 200: { description: "The updated alert.", schema: alertSchema, headers: ETAG } },
    async handler({ params: { monitor_id }, headers, body, principal: { org_id }, audit }, deps) {
      const row = await changeAlert(deps, org_id, monitor_id, body, matchesRevision(headers), {
        audit,
        target: { type: "monitor", id: monitor_id },
        view: ({ alert }) => alert,
      });
      return toResponse(row);
    },
  }),
];
