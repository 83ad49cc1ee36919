import { z } from "zod";
import { changeRetention, retentionOf, type Retention, type RetentionOf } from "../../services/accounts/retention.ts";
import type { Audit } from "../../services/audit/audit.ts";
import type { HandlerDeps } from "../deps.ts";
import { ETAG, contentTag, ifMatchHeaders, requireMatch, tagged } from "../http/etag.ts";
import { operationsOf } from "../http/operation.ts";
import { named, namedStrict, pathId } from "../http/schemas.ts";

const days = z.int().min(1).max(36_500).nullable();
const retentionSchema = named("Retention", {
  run_days: days.describe(
    "Days that a finished run is kept with its nodes, events and values. `null` means not set here.",
  ),
  max_run_days: days.describe(
    "Maximum that can be set here: the installation's days and, for a project, also the organisation's. `null` means unlimited.",
  ),
  effective_run_days: days.describe(
    "Days that apply: the smallest of all settings. `null` means runs are kept forever.",
  ),
});
const changeBody = namedStrict("RetentionChange", {
  run_days: days.optional().describe("Days up to `max_run_days`; `null` clears the value."),
});

const projectParams = z.object({ project_id: pathId("project") });
const EXAMPLES = { month: { run_days: 30 }, unset: { run_days: null } };
const REMOVAL =
  "Sets how many days runs are kept after they finish. Expired runs and conversation turns are purged within minutes, their blob values a day later. If only the installation's limit applies and it is 28 days or more, runs are purged weekly: up to 9 days late (up to a month above 180 days). Purged runs are not restored when you raise the limit.";

const toResponse = (body: Retention) => tagged(body, contentTag(body));

const installed = ({ config }: HandlerDeps): number | null => config.MILLRACE_RUN_RETENTION_DAYS ?? null;

async function change(
  deps: HandlerDeps,
  of: RetentionOf,
  { run_days }: z.output<typeof changeBody>,
  ifMatch: string | undefined,
  audit: Audit,
) {
  const target =
    of.project_id === null ? { type: "organisation", id: of.org_id } : { type: "project", id: of.project_id };
  const match = (found: Retention): void => requireMatch(ifMatch, contentTag(found));
  const audited = { audit, target, view: (row: Retention) => row };
  return toResponse(await changeRetention(deps.db, of, run_days, installed(deps), match, audited));
}

const define = operationsOf({ tag: "Projects", auth: "secret" });

/** `/v2/retention` and `/v2/projects/{project_id}/retention`: how long runs are kept. */
export const retentionOperations = [
  define({
    id: "getRetention",
    route: "GET /v2/retention",
    summary: "Get the organisation's run retention",
    description: "Returns how many days runs are kept after they finish. Projects can set fewer days.",
    success: { 200: { description: "The retention policy.", schema: retentionSchema, headers: ETAG } },
    handler: async ({ principal: { org_id } }, deps) =>
      toResponse(await retentionOf(deps.db, { org_id, project_id: null }, installed(deps))),
  }),
  define({
    id: "changeRetention",
    route: "PATCH /v2/retention",
    summary: "Set the organisation's run retention",
    description: REMOVAL,
    role: "admin",
    headers: ifMatchHeaders,
    body: changeBody,
    examples: EXAMPLES,
    success: { 200: { description: "The updated retention policy.", schema: retentionSchema, headers: ETAG } },
    handler: ({ headers, body, principal: { org_id }, audit }, deps) =>
      change(deps, { org_id, project_id: null }, body, headers["if-match"], audit),
  }),
  define({
    id: "getProjectRetention",
    route: "GET /v2/projects/{project_id}/retention",
    summary: "Get a project's run retention",
    description:
      "Returns how many days the project's runs are kept: the smallest of the installation's, the organisation's and the project's setting.",
    params: projectParams,
    success: { 200: { description: "The retention policy.", schema: retentionSchema, headers: ETAG } },
    handler: async ({ params: { project_id }, principal: { org_id } }, deps) =>
      toResponse(await retentionOf(deps.db, { org_id, project_id }, installed(deps))),
  }),
  define({
    id: "changeProjectRetention",
    route: "PATCH /v2/projects/{project_id}/retention",
    summary: "Set a project's run retention",
    description: REMOVAL,
    role: "admin",
    params: projectParams,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: EXAMPLES,
    success: { 200: { description: "The updated retention policy.", schema: retentionSchema, headers: ETAG } },
    handler: ({ params: { project_id }, headers, body, principal: { org_id }, audit }, deps) =>
      change(deps, { org_id, project_id }, body, headers["if-match"], audit),
  }),
];
