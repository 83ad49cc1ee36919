import { z } from "zod";
import {
  asIn,
  asViewer,
  keyOf,
  visibleProjects,
  seesSecrets,
  type Principal,
} from "../../domain/accounts/principal.ts";
import { ValidationProblem, invalid } from "../../domain/errors.ts";
import { checkCel } from "../../domain/flow/expressions/cel/cel.ts";
import { jsonObjectSchema } from "../../domain/json-schema.ts";
import type { JsonObject } from "../../domain/json.ts";
import { patchOf } from "../../domain/patch.ts";
import { TRIGGER_TYPES, findTriggerType, TRIGGER_KINDS, type TriggerType } from "../../domain/triggers/trigger.ts";
import { testTrigger } from "../../services/triggers/start-run.ts";
import {
  changeTrigger,
  createTrigger,
  deleteTrigger,
  outlookOf,
  requireTrigger,
} from "../../services/triggers/triggers.ts";
import { listTriggers, type TriggerDetail, type TriggerRow } from "../../stores/triggers/triggers.ts";
import { toValidationIssues } from "../../domain/issues.ts";
import { PRODUCTION } from "../../domain/projects/environments.ts";
import type { Audit, RowAudit } from "../../services/audit/audit.ts";
import { maskLiterals } from "../../platform/logging/literal-secrets.ts";
import type { HandlerDeps } from "../deps.ts";
import { baseUrl } from "../http/addresses.ts";
import { ETAG, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf, linkTo } from "../http/operation.ts";
import { asDeclared, givenId, named, namedStrict, pathId } from "../http/schemas.ts";
import { environmentName } from "../http/run-request.ts";

const settingsSchema = z.object({
  id: z.uuid(),
  project_id: z.uuid(),
  environment: z.string().describe("The environment whose version and connections the runs use."),
  provider_id: z.string(),
  trigger_id: z.string(),
  kind: z.enum(TRIGGER_KINDS),
  config: jsonObjectSchema.describe("Settings of the trigger, without its secret."),
  inputs: z.record(z.string(), z.string()),
  enabled: z.boolean(),
});

const triggerSchema = named("ProjectTrigger", {
  ...settingsSchema.shape,
  last_fired_at: z.iso.datetime().nullable(),
  last_run_id: z.uuid().nullable(),
  last_error: z.string().nullable().describe("Why it started no run the last time it fired."),
  last_error_at: z.iso.datetime().nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

const triggerDetailSchema = named("ProjectTriggerShown", {
  ...triggerSchema.shape,
  next_times: z
    .array(z.iso.datetime())
    .nullable()
    .describe(
      "The next times a schedule fires, up to five. `null` for other triggers, or if Temporal does not report them.",
    ),
  warnings: z.array(z.string()).describe("Parts of the schedule that may not mean what the author intended."),
});

export const createdTriggerSchema = named("ProjectTriggerCreated", {
  ...triggerDetailSchema.shape,
  address: z.string().nullable().describe("URL of an inbound webhook. Copy it now. You cannot see it again."),
});

function presentTriggerSettings(trigger: Omit<TriggerRow, "secret">, reader: Principal) {
  const config = trigger.config as JsonObject;
  return asDeclared(settingsSchema, { ...trigger, config: seesSecrets(reader) ? config : maskLiterals(config) });
}

function presentTrigger(trigger: TriggerDetail, reader: Principal): z.infer<typeof triggerSchema> {
  return asDeclared(triggerSchema, { ...trigger, ...presentTriggerSettings(trigger, reader) });
}

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
  .refine((given) => Object.keys(given).length <= MAX_INPUTS, `Must have at most ${MAX_INPUTS} inputs`)
  .describe(
    "A CEL expression over `payload` per input node ID. Values other than text are passed as JSON, and `null` as no value.",
  );
const config = jsonObjectSchema.describe("Settings that match the trigger's `config_schema`.");

const triggerEnvironment = environmentName.describe("The environment whose version and connections the runs use.");

const createBody = namedStrict("ProjectTriggerCreate", {
  project_id: givenId.describe("The project whose flow is run."),
  environment: triggerEnvironment.default(PRODUCTION),
  provider_id: z.string().max(100),
  trigger_id: z.string().max(100).describe("ID of the provider's trigger."),
  config: config.default({}),
  inputs: inputs.default({}),
  enabled: z.boolean().default(true),
});
const changeBody = namedStrict("ProjectTriggerChange", {
  config: config.optional(),
  inputs: patchOf(inputs).optional(),
  environment: triggerEnvironment.optional(),
  enabled: z.boolean().optional(),
});

const PROJECT = "0197f0a0-0000-7000-8000-000000000000";

async function toResponse(deps: HandlerDeps, trigger: TriggerDetail, reader: Principal) {
  const shown = { ...presentTrigger(trigger, reader), ...(await outlookOf(deps, trigger)) };
  return tagged(shown, revisionTag(trigger.revision));
}

const define = operationsOf({ tag: "Triggers", auth: "secret" });

/** `/v2/triggers`: rules that start runs automatically. */
export const triggerOperations = [
  define({
    id: "createTrigger",
    route: "POST /v2/triggers",
    summary: "Create a trigger",
    description: `Creates a trigger, which starts runs of a project's published flow. ${TRIGGER_TYPES.map(({ trigger_id, description }) => `\`${trigger_id}\`: ${description}`).join(" ")}`,
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
        description: "The trigger. For an inbound webhook it includes the webhook's URL.",
        schema: createdTriggerSchema,
        headers: { Location: "URL of the trigger in this API.", ...ETAG },
        links: { get: linkTo("getTrigger", ["id"]) },
      },
    },
    async handler({ body, principal, newId, requireHeld, ctx, audit }, deps) {
      const type = findTriggerType(body.provider_id, body.trigger_id);
      if (type === undefined) throw unknownType();
      const id = newId();
      const { trigger, token } = await createTrigger(deps, {
        id,
        org_id: principal.org_id,
        project_id: body.project_id,
        environment: body.environment,
        type,
        config: readConfig(type, body.config, principal),
        inputs: body.inputs,
        enabled: body.enabled,
        setBy: principal,
        requireHeld,
        audited: auditOf(audit, id, principal, body.config),
      });
      const address = token === null ? null : `${baseUrl(deps.config, ctx)}/hooks/${token}`;
      const answer = await toResponse(deps, trigger, principal);
      return {
        status: 201,
        body: { ...answer.body, address },
        headers: { ...answer.headers, Location: `/v2/triggers/${trigger.id}` },
      };
    },
  }),
  define({
    id: "listTriggers",
    route: "GET /v2/triggers",
    summary: "List triggers",
    description: "Lists triggers, newest first. Disabled triggers are included.",
    query: listQuery.extend({ project_id: givenId.optional() }),
    success: { 200: { description: "A page of triggers.", schema: pageOf(triggerSchema) } },
    async handler({ query, principal }, { reads }) {
      const { org_id } = principal;
      const { project_id } = query;
      return listPage("triggers", org_id, query, {
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
  define({
    id: "getTrigger",
    route: "GET /v2/triggers/{id}",
    summary: "Get a trigger",
    description: "Returns the trigger with the time it last fired and the error of that time, if any.",
    params,
    success: { 200: { description: "The trigger.", schema: triggerDetailSchema, headers: ETAG } },
    async handler({ params: { id }, principal }, deps) {
      const trigger = await deps.db.org(principal.org_id, (connection) => requireTrigger(connection, id));
      return toResponse(deps, trigger, principal);
    },
  }),
  define({
    id: "changeTrigger",
    route: "PATCH /v2/triggers/{id}",
    summary: "Change, disable or enable a trigger",
    description:
      "Changes, disables or enables a trigger. Omitted fields keep their values. Changes apply from the next time the trigger fires.",
    params,
    headers: ifMatchHeaders,
    body: changeBody,
    confidential: true,
    examples: { disable: { enabled: false }, inputs: { inputs: { "in-0": "payload.body.id" } } },
    success: { 200: { description: "The updated trigger.", schema: triggerDetailSchema, headers: ETAG } },
    async handler({ params: { id }, headers, body, principal, audit }, deps) {
      const changed = await changeTrigger(
        deps,
        principal,
        id,
        body,
        (type, whole) => readConfig(type, whole, principal),
        matchesRevision(headers),
        auditOf(audit, id, principal, body.config),
      );
      return toResponse(deps, changed, principal);
    },
  }),
  define({
    id: "testTrigger",
    route: "POST /v2/triggers/{id}/test",
    summary: "Test a trigger",
    description:
      "Starts a run with the given payload, or a sample. Works for disabled triggers. Returns 422 if the expressions or the flow reject the payload.",
    params,
    body: namedStrict("ProjectTriggerTest", {
      payload: jsonObjectSchema.optional().describe("The value of `payload` in expressions."),
    }),
    idempotent: true,
    examples: { sample: {}, own: { payload: { body: { order: { id: 17 } }, headers: {}, query: {} } } },
    problems: ["too_many_concurrent_runs", "quota_exceeded", "service_unavailable"],
    success: {
      202: {
        description: "The run was accepted.",
        schema: named("ProjectTriggerTested", { run_id: z.uuid(), payload: jsonObjectSchema }),
        headers: { Location: "URL of the run." },
      },
    },
    async handler({ params: { id }, body, principal, newId }, { db, starting }) {
      const trigger = await db.org(principal.org_id, (connection) => requireTrigger(connection, id));
      const asked = { run_id: newId(), payload: body.payload, key_id: keyOf(principal) };
      const tested = await testTrigger(starting, trigger, asked);
      return { status: 202, body: tested, headers: { Location: `/v2/runs/${tested.run_id}` } };
    },
  }),
  define({
    id: "deleteTrigger",
    route: "DELETE /v2/triggers/{id}",
    summary: "Delete a trigger",
    description: "Deletes the trigger. It starts no more runs; its runs in progress continue.",
    params,
    success: { 204: { description: "Deleted." } },
    handler: ({ params: { id }, principal, audit }, deps) =>
      deleteTrigger(deps, principal.org_id, id, auditOf(audit, id, principal)),
  }),
];

function auditOf(audit: Audit, id: string, principal: Principal, config?: JsonObject): RowAudit<TriggerRow> {
  const view = (trigger: TriggerRow) => presentTriggerSettings(trigger, asViewer(principal));
  return { audit, target: { type: "trigger", id }, view, secrets: config?.["secret"] === undefined ? [] : ["secret"] };
}

function unknownType() {
  const known = TRIGGER_TYPES.map(({ provider_id, trigger_id }) => `${provider_id} has ${trigger_id}`).join(", ");
  return invalid(["body", "trigger_id"], `Trigger type not found: ${known}`);
}

/** The configuration with its defaults. Throws 422, also if it would show runs of projects that the caller may not see. */
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
      "Project not found, or none is named and you may not see all projects",
    );
  return read;
}
