import { z } from "zod";
import { asIn, asViewer, visibleProjects } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { ValidationProblem, invalid } from "../../domain/errors.ts";
import { checkCel } from "../../domain/flow/expressions/cel/cel.ts";
import { jsonObjectSchema } from "../../domain/json-schema.ts";
import type { JsonObject } from "../../domain/json.ts";
import { TRIGGER_TYPES, findTriggerType } from "../../domain/triggers/trigger.ts";
import type { TriggerType } from "../../domain/triggers/trigger.ts";
import { testTrigger } from "../../services/triggers/test-trigger.ts";
import {
  changeTrigger,
  createTrigger,
  deleteTrigger,
  outlookOf,
  requireTrigger,
} from "../../services/triggers/triggers.ts";
import type { TriggerChange } from "../../services/triggers/triggers.ts";
import { listTriggers } from "../../stores/triggers/triggers.ts";
import type { TriggerDetail, TriggerRow } from "../../stores/triggers/triggers.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { baseUrl } from "../http/base-url.ts";
import { ETAG, ifMatchHeaders, requireMatch, revisionTag, tagged } from "../http/etag.ts";
import { toValidationIssues } from "../http/issues.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { startingRuns } from "./starting-runs.ts";
import {
  createdTriggerSchema,
  presentTrigger,
  presentTriggerSettings,
  triggerDetailSchema,
  triggerSchema,
} from "./trigger-presenter.ts";
import type { Audit, RowAudit } from "../../services/audit/audit.ts";

const COMMON = { tag: "Triggers", auth: "secret" } as const;
const MAX_INPUTS = 50;
const params = z.object({ id: pathId("trigger") });

const expression = z
  .string()
  .min(1)
  .max(2000)
  .superRefine((source, context) => {
    const checked = checkCel(source);
    if (!checked.ok) context.addIssue({ code: "custom", message: checked.message });
  });
const inputs = z
  .record(z.string().min(1).max(64), expression)
  .refine((given) => Object.keys(given).length <= MAX_INPUTS, `At most ${MAX_INPUTS} inputs`)
  .describe("By node id, a CEL expression over `payload`. What is no text goes in as JSON, and null as nothing.");
const config = jsonObjectSchema.describe("As the provider's trigger has it in `config_schema`.");

const createBody = z
  .strictObject({
    project_id: z.uuid().toLowerCase().describe("Whose published flow is run."),
    provider_id: z.string().max(100),
    trigger_id: z.string().max(100).describe("Which trigger of the provider."),
    config: config.default({}),
    inputs: inputs.default({}),
    enabled: z.boolean().default(true),
  })
  .meta({ id: "ProjectTriggerCreate" });
const changeBody = z
  .strictObject({
    config: config.optional().describe("Takes the place of the present one; a secret that it does not name stays."),
    inputs: inputs.optional(),
    enabled: z.boolean().optional(),
  })
  .meta({ id: "ProjectTriggerChange" });

const PROJECT = "0197f0a0-0000-7000-8000-000000000000";

/** `/v2/triggers`: what starts runs automatically. */
export function createTriggerOperations(deps: ApiDeps, services: ApiServices): Operation[] {
  const { config: settings, db, reads } = deps;
  const toResponse = async (trigger: TriggerDetail, reader: Principal) =>
    tagged({ ...presentTrigger(trigger, reader), ...(await outlookOf(deps, trigger)) }, revisionTag(trigger.revision));
  const starting = startingRuns(deps, services);

  return [
    defineOperation({
      ...COMMON,
      id: "createTrigger",
      method: "POST",
      path: "/v2/triggers",
      summary: "Create a trigger",
      description: `It starts runs of a project's published flow: ${TRIGGER_TYPES.map(({ trigger_id, description }) => `\`${trigger_id}\`: ${description}`).join(" ")}`,
      body: createBody,
      idempotent: true,
      confidential: true,
      problems: ["not_found", "conflict"],
      examples: {
        schedule: {
          project_id: PROJECT,
          provider_id: "millrace",
          trigger_id: "schedule",
          config: { cron: "0 9 * * mon-fri", time_zone: "Europe/Berlin" },
          inputs: { "in-0": "payload.scheduled_at" },
        },
        webhook: {
          project_id: PROJECT,
          provider_id: "millrace",
          trigger_id: "webhook",
          config: { verification: "github", secret: "the secret set at GitHub" },
          inputs: { "in-0": "payload.body.repository.full_name" },
        },
        run_event: {
          project_id: PROJECT,
          provider_id: "millrace",
          trigger_id: "run_event",
          config: { states: ["FAILED"] },
          inputs: { "in-0": "payload.error.message" },
        },
        changed: {
          project_id: PROJECT,
          provider_id: "http",
          trigger_id: "http.changed",
          config: { url: "https://example.com/status.json", every_minutes: 10, json_path: "$.state" },
          inputs: { "in-0": "payload.value" },
        },
        rows: {
          project_id: PROJECT,
          provider_id: "postgres",
          trigger_id: "postgres.new_rows",
          config: { connection_id: PROJECT, table: "shop.orders", column: "id" },
          inputs: { "in-0": "payload.row.note" },
        },
      },
      success: {
        201: {
          description: "The trigger; of an inbound webhook with its address.",
          schema: createdTriggerSchema,
          headers: { Location: "Its address in this interface.", ...ETAG },
          links: { get: linkTo("getTrigger", ["id"]) },
        },
      },
      async handler({ body, principal, newId, requireHeld, ctx, audit }) {
        const type = findTriggerType(body.provider_id, body.trigger_id);
        if (type === undefined) throw unknownType();
        const id = newId();
        const { trigger, token } = await createTrigger(deps, {
          id,
          org_id: principal.org_id,
          project_id: body.project_id,
          type,
          config: readConfig(type, body.config, principal),
          inputs: body.inputs,
          enabled: body.enabled,
          created_by: principal.id,
          requireHeld,
          audited: auditOf(audit, id, principal, body.config),
        });
        const address = token === null ? null : `${baseUrl(settings, ctx)}/hooks/${token}`;
        const answer = await toResponse(trigger, principal);
        return {
          status: 201,
          body: { ...answer.body, address },
          headers: { ...answer.headers, Location: `/v2/triggers/${trigger.id}` },
        };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "listTriggers",
      method: "GET",
      path: "/v2/triggers",
      summary: "List triggers",
      description: "Newest first, disabled ones included.",
      query: listQuery.extend({ project_id: z.uuid().toLowerCase().optional() }),
      success: { 200: { description: "A page of triggers.", schema: pageOf(triggerSchema, "ProjectTriggerPage") } },
      async handler({ query, principal }) {
        const { org_id } = principal;
        const { project_id } = query;
        return listPage({
          list: "triggers",
          orgId: org_id,
          query,
          filters: { project_id },
          fetch: (keyset) =>
            reads.org(org_id, (connection) =>
              listTriggers(connection, project_id ?? null, keyset, visibleProjects(principal)),
            ),
          idOf: ({ id }) => id,
          present: (trigger) => presentTrigger(trigger, asIn(principal, trigger.project_id)),
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getTrigger",
      method: "GET",
      path: "/v2/triggers/{id}",
      summary: "Get a trigger",
      description: "With when it fired last, and what went wrong then.",
      params,
      success: { 200: { description: "The trigger.", schema: triggerDetailSchema, headers: ETAG } },
      async handler({ params: { id }, principal }) {
        const trigger = await db.org(principal.org_id, (connection) => requireTrigger(connection, id));
        return toResponse(trigger, principal);
      },
    }),
    defineOperation({
      ...COMMON,
      id: "changeTrigger",
      method: "PATCH",
      path: "/v2/triggers/{id}",
      summary: "Change, disable or enable a trigger",
      description: "Members left out stay as they are. A new setting holds from the next firing on.",
      params,
      headers: ifMatchHeaders,
      body: changeBody,
      confidential: true,
      examples: { disable: { enabled: false }, inputs: { inputs: { "in-0": "payload.body.id" } } },
      success: { 200: { description: "The trigger as it is now.", schema: triggerDetailSchema, headers: ETAG } },
      async handler({ params: { id }, headers, body, principal, audit }) {
        const read = (trigger: TriggerRow): TriggerChange => {
          const type = findTriggerType(trigger.provider_id, trigger.trigger_id);
          if (body.config === undefined || type === undefined) return { ...body, config: undefined };
          return { ...body, config: readConfig(type, body.config, principal) };
        };
        const changed = await changeTrigger(
          deps,
          principal.org_id,
          id,
          read,
          ({ revision }) => requireMatch(headers["if-match"], revisionTag(revision)),
          auditOf(audit, id, principal, body.config),
        );
        return toResponse(changed, principal);
      },
    }),
    defineOperation({
      ...COMMON,
      id: "testTrigger",
      method: "POST",
      path: "/v2/triggers/{id}/test",
      summary: "Start a run as the trigger would",
      description:
        "With the payload that is given, or a sample of its kind. Also where the trigger is disabled. What its expressions or the flow do not " +
        "take is a 422.",
      params,
      body: z
        .strictObject({ payload: jsonObjectSchema.optional().describe("What the expressions see as `payload`.") })
        .meta({ id: "ProjectTriggerTest" }),
      idempotent: true,
      examples: { sample: {}, own: { payload: { body: { order: { id: 17 } }, headers: {}, query: {} } } },
      problems: ["too_many_concurrent_runs", "quota_exceeded", "service_unavailable"],
      exactNumbers: true,
      success: {
        202: {
          description: "The run has been accepted.",
          schema: z.object({ run_id: z.uuid(), payload: jsonObjectSchema }).meta({ id: "ProjectTriggerTested" }),
          headers: { Location: "The run's address." },
        },
      },
      async handler({ params: { id }, body, principal: { org_id }, newId }) {
        const trigger = await db.org(org_id, (connection) => requireTrigger(connection, id));
        const tested = await testTrigger(starting, trigger, newId(), body.payload);
        return { status: 202, body: tested, headers: { Location: `/v2/runs/${tested.run_id}` } };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "deleteTrigger",
      method: "DELETE",
      path: "/v2/triggers/{id}",
      summary: "Delete a trigger",
      description: "It starts no run any more; those under way go on.",
      params,
      success: { 204: { description: "It is gone." } },
      async handler({ params: { id }, principal, audit }) {
        await deleteTrigger(deps, principal.org_id, id, auditOf(audit, id, principal));
        return { status: 204 };
      },
    }),
  ];
}

function auditOf(audit: Audit, id: string, principal: Principal, config?: JsonObject): RowAudit<TriggerRow> {
  const view = (trigger: TriggerRow) => presentTriggerSettings(trigger, asViewer(principal));
  return { audit, target: { type: "trigger", id }, view, secrets: config?.["secret"] === undefined ? [] : ["secret"] };
}

function unknownType() {
  const known = TRIGGER_TYPES.map(({ provider_id, trigger_id }) => `${provider_id} has ${trigger_id}`).join(", ");
  return invalid(["body", "trigger_id"], `There is no such trigger: ${known}`);
}

/**
 * The configuration with its defaults. Throws 422, also if it would show runs of projects that the caller may not
 * see.
 */
function readConfig(type: TriggerType, given: JsonObject, principal: Principal): JsonObject {
  const body = { config: given };
  const parsed = z.object({ config: type.config }).safeParse(body);
  if (!parsed.success) throw new ValidationProblem(toValidationIssues(parsed.error, "body", body));
  const read = parsed.data.config as JsonObject;
  const visible = visibleProjects(principal);
  const { project_id: followed } = read;
  if (visible !== undefined && followed !== undefined && !visible.some((id) => id === followed))
    throw invalid(
      ["body", "config", "project_id"],
      "There is no such project, or none is named and not all may be seen",
    );
  return read;
}
