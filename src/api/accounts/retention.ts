import { z } from "zod";
import { changeRetention, retentionOf } from "../../services/accounts/retention.ts";
import type { Retention, RetentionOf } from "../../services/accounts/retention.ts";
import type { Audit } from "../../services/audit/audit.ts";
import type { ApiDeps } from "../deps.ts";
import { ETAG, contentTag, ifMatchHeaders, requireMatch, tagged } from "../http/etag.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";

const days = z.int().min(1).max(36_500).nullable();
const retentionSchema = z
  .object({
    run_days: days.describe(
      "Days after its end that a run is kept with its nodes, events and values. null: nothing is set here.",
    ),
    max_run_days: days.describe(
      "The most that can be set here: the installation's days and, for a project, the organisation's. null: any number.",
    ),
    effective_run_days: days.describe("What counts: the fewest days of all. null: runs are kept for ever."),
  })
  .meta({ id: "Retention" });
const changeBody = z
  .strictObject({ run_days: days.optional().describe("At most max_run_days; null unsets.") })
  .meta({ id: "RetentionChange" });

const projectParams = z.object({ project_id: pathId("project") });
const EXAMPLES = { month: { run_days: 30 }, unset: { run_days: null } };
const REMOVAL =
  "Runs that have had their time are removed within minutes, and so are the turns of conversations; values in the blob store a day later. Where the installation's days alone count, and are 28 or more, runs are removed by the week: up to nine days later, or a month with more than 180 days. What is removed does not come back when more days are set.";

const COMMON = { tag: "Projects", auth: "secret" } as const;

/** `/v2/retention` and `/v2/projects/{project_id}/retention`: how long runs are kept. */
export function createRetentionOperations({ db, config }: ApiDeps): Operation[] {
  const installation = config.MILLRACE_RUN_RETENTION_DAYS ?? null;
  const toResponse = (body: Retention) => tagged(body, contentTag(body));
  const change = async (
    of: RetentionOf,
    { run_days }: z.output<typeof changeBody>,
    ifMatch: string | undefined,
    audit: Audit,
  ) => {
    const target =
      of.project_id === null ? { type: "organisation", id: of.org_id } : { type: "project", id: of.project_id };
    const match = (found: Retention): void => requireMatch(ifMatch, contentTag(found));
    const audited = { audit, target, view: (row: Retention) => row };
    return toResponse(await changeRetention(db, of, run_days, installation, match, audited));
  };
  return [
    defineOperation({
      ...COMMON,
      id: "getRetention",
      method: "GET",
      path: "/v2/retention",
      summary: "Get how long the organisation's runs are kept",
      description: "Projects may set fewer days.",
      success: { 200: { description: "The policy.", schema: retentionSchema, headers: ETAG } },
      handler: async ({ principal: { org_id } }) =>
        toResponse(await retentionOf(db, { org_id, project_id: null }, installation)),
    }),
    defineOperation({
      ...COMMON,
      id: "changeRetention",
      method: "PATCH",
      path: "/v2/retention",
      summary: "Set how long the organisation's runs are kept",
      description: REMOVAL,
      role: "admin",
      headers: ifMatchHeaders,
      body: changeBody,
      examples: EXAMPLES,
      success: { 200: { description: "The policy as it is now.", schema: retentionSchema, headers: ETAG } },
      handler: ({ headers, body, principal: { org_id }, audit }) =>
        change({ org_id, project_id: null }, body, headers["if-match"], audit),
    }),
    defineOperation({
      ...COMMON,
      id: "getProjectRetention",
      method: "GET",
      path: "/v2/projects/{project_id}/retention",
      summary: "Get how long a project's runs are kept",
      description: "The fewest of the days that the installation, the organisation and the project set.",
      params: projectParams,
      success: { 200: { description: "The policy.", schema: retentionSchema, headers: ETAG } },
      handler: async ({ params: { project_id }, principal: { org_id } }) =>
        toResponse(await retentionOf(db, { org_id, project_id }, installation)),
    }),
    defineOperation({
      ...COMMON,
      id: "changeProjectRetention",
      method: "PATCH",
      path: "/v2/projects/{project_id}/retention",
      summary: "Set how long a project's runs are kept",
      description: REMOVAL,
      role: "admin",
      params: projectParams,
      headers: ifMatchHeaders,
      body: changeBody,
      examples: EXAMPLES,
      success: { 200: { description: "The policy as it is now.", schema: retentionSchema, headers: ETAG } },
      handler: ({ params: { project_id }, headers, body, principal: { org_id }, audit }) =>
        change({ org_id, project_id }, body, headers["if-match"], audit),
    }),
  ];
}
