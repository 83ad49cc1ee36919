import { z } from "zod";
import {
  MONITOR_STATUSES,
  monitorFilterSchema,
  monitorLimitsSchema,
  monitorStatsSchema,
  type MonitorStatus,
} from "../../domain/evals/monitor.ts";
import { PRODUCTION } from "../../domain/projects/environments.ts";
import { patchOf } from "../../domain/patch.ts";
import {
  changeMonitor,
  createMonitor,
  deleteMonitor,
  monitorLimits,
  requireMonitor,
} from "../../services/evals/monitors.ts";
import { auditAs } from "../../services/audit/audit.ts";
import { countOthers } from "../../stores/count-others.ts";
import { listMonitors, type MonitorDetail, type MonitorRow } from "../../stores/evals/monitors.ts";
import { ETAG, asCreated, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linksTo } from "../http/operation.ts";
import { asDeclared, givenId as id, named, namedStrict, pathId, visibleText } from "../http/schemas.ts";
import { environmentName } from "../http/run-request.ts";

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

const monitorSchema = named("Monitor", {
  ...settingsSchema.shape,
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
});

function presentMonitor(row: MonitorDetail): z.infer<typeof monitorSchema> {
  return asDeclared(monitorSchema, {
    ...row,
    ...presentMonitorSettings(row),
    status: statusOf(row),
    stats: row,
  });
}

function presentMonitorSettings(row: MonitorRow) {
  return asDeclared(settingsSchema, {
    ...row,
    evaluator_ids: row.evaluators.map(({ evaluator_id }) => evaluator_id),
  });
}

function statusOf({ enabled, revision, applied_revision }: MonitorRow): MonitorStatus {
  if (!enabled) return "disabled";
  return applied_revision < revision ? "pending" : "active";
}

const MONITORS = "/v2/evals/monitors";
export const MONITOR = `${MONITORS}/{monitor_id}` as const;
export const monitorParams = z.object({ monitor_id: pathId("monitor") });
const NO_ID = "00000000-0000-0000-0000-000000000000";

const members = {
  name: visibleText(200),
  description: z.string().max(10_000),
  project_id: id,
  flow_versions: z
    .array(z.int().min(1).max(2_147_483_647))
    .min(1)
    .max(100)
    .nullable()
    .describe("Flow versions to sample; `null` means all."),
  environment: environmentName.describe(
    "The environment whose runs are scored; runs of explicit versions belong to `production`.",
  ),
  evaluator_ids: z.array(id).min(1).max(50).describe("Evaluators to use; their current versions are pinned."),
  sampling_rate: z
    .number()
    .min(0)
    .max(1)
    .describe("Share of eligible runs to score (0–1). Selection hashes the run ID, so it is repeatable."),
  filter: monitorFilterSchema,
  max_per_hour: z.int().min(1).max(100_000).describe("Maximum number of runs to score per hour."),
  enabled: z.boolean(),
};
const createBody = namedStrict("MonitorCreate", {
  ...members,
  description: members.description.default(""),
  flow_versions: members.flow_versions.default(null),
  environment: members.environment.default(PRODUCTION),
  sampling_rate: members.sampling_rate.default(0.1),
  filter: members.filter.default({ states: ["COMPLETED", "FAILED"], run_types: ["api", "trigger", "scheduled"] }),
  max_per_hour: members.max_per_hour.optional(),
  enabled: members.enabled.default(true),
});
const changeBody = z
  .strictObject({ ...members, filter: patchOf(monitorFilterSchema) })
  .partial()
  .meta({ id: "MonitorChange" });

const EXAMPLE = {
  name: "Answers in production",
  project_id: "0197f0a0-0000-7000-8000-000000000000",
  evaluator_ids: ["0197f0a0-0000-7000-8000-000000000002"],
};

const auditOf = auditAs("monitor", presentMonitorSettings);

const toResponse = (row: MonitorDetail) => tagged(presentMonitor(row), revisionTag(row.revision));

export const define = operationsOf({ tag: "Monitors", auth: "secret" });

/** `/v2/evals/monitors`: score production runs as they finish. */
export const monitorOperations = [
  define({
    id: "getMonitorLimits",
    route: "GET /v2/evals/monitor-limits",
    summary: "Get monitor limits and usage",
    description: "Returns the installation's limits for monitors and the number of monitors in the organisation.",
    success: { 200: { description: "The limits.", schema: monitorLimitsSchema } },
    async handler({ principal: { org_id } }, { db, config }) {
      const used = await db.org(org_id, (connection) => countOthers(connection, "eval_monitors", NO_ID));
      return { status: 200, body: { ...monitorLimits(config), used } };
    },
  }),
  define({
    id: "listMonitors",
    route: `GET ${MONITORS}`,
    summary: "List monitors",
    description: "Lists monitors, newest first, with the number of runs each has sampled and scored.",
    query: listQuery.extend({ project_id: id.optional(), enabled: z.boolean().optional() }),
    success: { 200: { description: "A page of monitors.", schema: pageOf(monitorSchema) } },
    async handler({ query, principal: { org_id } }, { reads }) {
      const search = { project_id: query.project_id ?? null, enabled: query.enabled ?? null };
      return listPage("monitors", org_id, query, {
        filters: search,
        fetch: (keyset) => reads.org(org_id, (connection) => listMonitors(connection, search, keyset)),
        idOf: (row) => row.monitor_id,
        present: presentMonitor,
      });
    },
  }),
  define({
    id: "createMonitor",
    route: `POST ${MONITORS}`,
    summary: "Create a monitor",
    description:
      "Creates a monitor. From now on, finished runs of the flow are sampled and scored by the current evaluator versions. Returns 409 at the monitor limit.",
    body: createBody,
    idempotent: true,
    problems: ["not_found", "conflict"],
    examples: {
      plain: EXAMPLE,
      filtered: {
        ...EXAMPLE,
        sampling_rate: 0.5,
        max_per_hour: 200,
        filter: { states: ["COMPLETED"], run_types: ["api"], tags: ["orders"] },
      },
    },
    success: { 201: created("The monitor.", monitorSchema, linksTo("getMonitor", ["monitor_id"]), ETAG) },
    async handler({ body: request, principal: { org_id }, newId, audit }, deps) {
      const monitorId = newId();
      const monitor = await createMonitor(deps, org_id, monitorId, request, auditOf(audit, monitorId));
      return asCreated(toResponse(monitor), `${MONITORS}/${monitorId}`);
    },
  }),
  define({
    id: "getMonitor",
    route: `GET ${MONITOR}`,
    summary: "Get a monitor",
    description: "Returns the monitor with the number of runs it has sampled and scored.",
    params: monitorParams,
    success: { 200: { description: "The monitor.", schema: monitorSchema, headers: ETAG } },
    async handler({ params: { monitor_id }, principal: { org_id } }, { db }) {
      return toResponse(await db.org(org_id, (connection) => requireMonitor(connection, monitor_id)));
    },
  }),
  define({
    id: "changeMonitor",
    route: `PATCH ${MONITOR}`,
    summary: "Change a monitor",
    description:
      "Changes a monitor; omitted fields keep their values. Sending evaluators pins their current versions. A disabled monitor samples nothing. Removing an evaluator used by the alert returns 409.",
    params: monitorParams,
    headers: ifMatchHeaders,
    body: changeBody,
    problems: ["conflict"],
    examples: { disable: { enabled: false }, rate: { sampling_rate: 0.25 } },
    success: { 200: { description: "The updated monitor.", schema: monitorSchema, headers: ETAG } },
    async handler({ params: { monitor_id }, headers, body, principal: { org_id }, audit }, deps) {
      const row = await changeMonitor(
        deps,
        org_id,
        monitor_id,
        body,
        matchesRevision(headers),
        auditOf(audit, monitor_id),
      );
      return toResponse(row);
    },
  }),
  define({
    id: "deleteMonitor",
    route: `DELETE ${MONITOR}`,
    summary: "Delete a monitor",
    description:
      "Deletes a monitor with its samples, its statistics and the scores that nothing else uses. The runs are kept.",
    params: monitorParams,
    success: { 204: { description: "Deleted." } },
    handler: ({ params: { monitor_id }, principal: { org_id }, audit }, deps) =>
      deleteMonitor(deps, org_id, monitor_id, auditOf(audit, monitor_id)),
  }),
];
