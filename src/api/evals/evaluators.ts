import { z } from "zod";
import { asViewer, seesSecrets, type Principal } from "../../domain/accounts/principal.ts";
import { notFound } from "../../domain/errors.ts";
import { definitionShape, evaluatorInputSchema } from "../../domain/evals/evaluator.ts";
import { EVALUATOR_TYPES, TEMPLATES, defaultThreshold, kindOf } from "../../domain/evals/evaluators/index.ts";
import { patchOf } from "../../domain/patch.ts";
import type { Audit, RowAudit } from "../../services/audit/audit.ts";
import {
  changeEvaluator,
  createEvaluator,
  deleteEvaluator,
  requireEvaluator,
} from "../../services/evals/evaluators.ts";
import { listEvaluators, type EvaluatorRow } from "../../stores/evals/evaluators.ts";
import { stated } from "../../services/change.ts";
import type { JsonObject } from "../../domain/json.ts";
import { maskLiterals } from "../../platform/logging/literal-secrets.ts";
import { ETAG, asCreated, ifMatchHeaders, requireMatch, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linksTo } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";

const object = z.record(z.string(), z.unknown());

const evaluatorSchema = named("Evaluator", {
  evaluator_id: z.uuid(),
  name: z.string(),
  description: z.string(),
  type: z.enum(EVALUATOR_TYPES),
  config: object,
  ...definitionShape,
  version: z.int().describe("Number of the version. Every change increases it; experiments pin one."),
  template_id: z.string().nullable(),
  secret: z
    .string()
    .optional()
    .describe(
      "Only for webhook evaluators, in the response that creates one: its requests are signed with this secret, as webhooks are.",
    ),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

function presentEvaluator(
  { secret: _sealed, definition, ...row }: EvaluatorRow,
  reader: Principal,
): z.infer<typeof evaluatorSchema> {
  const config = definition.config as JsonObject;
  const shown = seesSecrets(reader) ? config : maskLiterals(config);
  return asDeclared(evaluatorSchema, { ...definition, ...row, config: shown });
}

const EVALUATORS = "/v2/evals/evaluators";
const EVALUATOR = `${EVALUATORS}/{evaluator_id}` as const;
const params = z.object({ evaluator_id: pathId("evaluator") });
const name = z.string().trim().min(1).max(200);
const description = z.string().max(10_000);

const definition = evaluatorInputSchema.shape;
const createBody = z
  .strictObject({
    name,
    description: description.default(""),
    template_id: z.string().max(100).nullish().describe("Template that supplies the omitted fields."),
    type: definition.type.optional().describe("Type of the evaluator. Required unless you send `template_id`."),
    config: definition.config.unwrap().optional(),
    target: definition.target.unwrap().optional(),
    score: definition.score.unwrap().optional(),
    negate: z.boolean().optional(),
    weight: definition.weight.unwrap().optional(),
  })
  .refine(({ type, template_id }) => type !== undefined || template_id != null, {
    path: ["type"],
    message: "type is required unless you send template_id",
  })
  .meta({ id: "EvaluatorCreate" });
const changeBody = namedStrict("EvaluatorChange", {
  name: name.optional(),
  description: description.optional(),
  config: definition.config.unwrap().optional(),
  target: patchOf(definition.target).optional(),
  score: patchOf(definition.score).optional(),
  negate: z.boolean().optional(),
  weight: definition.weight.unwrap().optional(),
});

const templateSchema = named("EvaluatorTemplate", {
  template_id: z.string(),
  type: z.enum(EVALUATOR_TYPES),
  name: z.string(),
  description: z.string(),
  type_description: z.string(),
  config: z.record(z.string(), z.unknown()),
  score: z.object({ data_type: z.string(), direction: z.string(), pass_threshold: z.number().nullable() }),
  config_schema: z.record(z.string(), z.unknown()).describe("JSON Schema of the type's `config`."),
});

const auditOf = (audit: Audit, id: string, principal: Principal): RowAudit<EvaluatorRow> => ({
  audit,
  target: { type: "evaluator", id },
  view: (row) => presentEvaluator(row, asViewer(principal)),
});

/** The threshold of a template fits only the template's own configuration. */
function scoreFor({ pass_threshold }: (typeof TEMPLATES)[number], given: { readonly config?: unknown }) {
  return pass_threshold === undefined || given.config !== undefined ? {} : { score: { pass_threshold } };
}

const toResponse = (row: EvaluatorRow, reader: Principal) =>
  tagged(presentEvaluator(row, reader), revisionTag(row.version));

const define = operationsOf({ tag: "Evaluators", auth: "secret" });

/** `/v2/evals/evaluators` and their templates: rules and model judges that score runs. */
export const evaluatorOperations = [
  define({
    id: "listEvaluators",
    route: `GET ${EVALUATORS}`,
    summary: "List evaluators",
    description: "Lists evaluators, newest first, with their settings.",
    query: listQuery.extend({ type: z.enum(EVALUATOR_TYPES).optional() }),
    success: { 200: { description: "A page of evaluators.", schema: pageOf(evaluatorSchema) } },
    async handler({ query, principal }, { reads }) {
      const { org_id } = principal;
      const search = { type: query.type ?? null };
      return listPage("evaluators", org_id, query, {
        filters: search,
        fetch: (keyset) => reads.org(org_id, (connection) => listEvaluators(connection, search, keyset)),
        idOf: (row) => row.evaluator_id,
        present: (row) => presentEvaluator(row, principal),
      });
    },
  }),
  define({
    id: "createEvaluator",
    route: `POST ${EVALUATORS}`,
    summary: "Create an evaluator",
    description:
      "Creates an evaluator. Its `type` decides what `config` contains; `GET /v2/evals/evaluator-templates` has an example of each type.",
    body: createBody,
    idempotent: true,
    // The response contains the secret of a webhook.
    confidential: true,
    problems: ["not_found"],
    examples: {
      contains: {
        name: "Says the hour",
        type: "contains",
        config: { ignore_case: true },
        target: { output: "out-0" },
      },
      template: { name: "Correct", template_id: "llm_judge.correctness" },
      latency: { name: "Fast", type: "latency", score: { pass_threshold: 2000 } },
    },
    success: { 201: created("The evaluator.", evaluatorSchema, linksTo("getEvaluator", ["evaluator_id"]), ETAG) },
    async handler({ body: { name: called, description: text, template_id, ...given }, principal, newId, audit }, deps) {
      const { org_id } = principal;
      const template = TEMPLATES.find((each) => each.template_id === template_id);
      if (template_id != null && template === undefined) throw notFound("evaluator template");
      const input =
        template === undefined
          ? given
          : { type: template.type, config: template.config, ...scoreFor(template, given), ...stated(given) };
      const evaluator_id = newId();
      const { row, secret } = await createEvaluator(
        deps,
        { evaluator_id, org_id, name: called, description: text, template_id: template_id ?? null },
        stated(input),
        auditOf(audit, evaluator_id, principal),
      );
      const answer = asCreated(toResponse(row, principal), `${EVALUATORS}/${evaluator_id}`);
      return secret === null ? answer : { ...answer, body: { ...answer.body, secret } };
    },
  }),
  define({
    id: "getEvaluator",
    route: `GET ${EVALUATOR}`,
    summary: "Get an evaluator",
    description: "Returns the evaluator with its version. Every change creates a version; experiments pin one.",
    params,
    success: { 200: { description: "The evaluator.", schema: evaluatorSchema, headers: ETAG } },
    async handler({ params: { evaluator_id }, principal }, { db }) {
      const row = await db.org(principal.org_id, (connection) => requireEvaluator(connection, evaluator_id));
      return toResponse(row, principal);
    },
  }),
  define({
    id: "changeEvaluator",
    route: `PATCH ${EVALUATOR}`,
    summary: "Change an evaluator",
    description:
      "Creates a new version with the changes; omitted fields keep their values. Experiments keep the version they pinned.",
    params,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: { threshold: { score: { pass_threshold: 0.9 } }, rename: { name: "Correctness" } },
    success: { 200: { description: "The updated evaluator.", schema: evaluatorSchema, headers: ETAG } },
    async handler({ params: { evaluator_id }, headers, body, principal, audit }, deps) {
      const { org_id } = principal;
      const { name: called, description: text, ...given } = body;
      const change = { name: called, description: text, definition: stated(given) };
      const row = await changeEvaluator(
        deps,
        org_id,
        evaluator_id,
        change,
        (found) => requireMatch(headers["if-match"], revisionTag(found.version)),
        auditOf(audit, evaluator_id, principal),
      );
      return toResponse(row, principal);
    },
  }),
  define({
    id: "deleteEvaluator",
    route: `DELETE ${EVALUATOR}`,
    summary: "Delete an evaluator",
    description:
      "Deletes an evaluator. Returns 409 `in_use` if experiments or monitors use it; `used_by` lists up to 100 of them.",
    params,
    problems: ["in_use"],
    success: { 204: { description: "Deleted." } },
    handler: ({ params: { evaluator_id }, principal, audit }, deps) =>
      deleteEvaluator(deps, principal.org_id, evaluator_id, auditOf(audit, evaluator_id, principal)),
  }),
  define({
    id: "listEvaluatorTemplates",
    route: "GET /v2/evals/evaluator-templates",
    summary: "List evaluator templates",
    description:
      "Lists one or more templates of each evaluator type. You can send a template unchanged to create an evaluator.",
    success: { 200: { description: "All templates.", schema: pageOf(templateSchema) } },
    async handler() {
      const data = TEMPLATES.map((template) => {
        const { score, config, description: type_description } = kindOf(template.type);
        const { data_type, direction } = score;
        const usual = defaultThreshold(template.type, config.parse(template.config), direction);
        return asDeclared(templateSchema, {
          ...template,
          type_description,
          score: { data_type, direction, pass_threshold: template.pass_threshold ?? usual ?? null },
          config_schema: z.toJSONSchema(config, { io: "input" }),
        });
      });
      return { status: 200, body: { data, cursor: null, has_more: false } };
    },
  }),
];
