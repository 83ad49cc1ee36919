import { z } from "zod";
import { asViewer } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { notFound } from "../../domain/errors.ts";
import { evaluatorInputSchema } from "../../domain/evals/evaluator.ts";
import { EVALUATOR_TYPES, TEMPLATES, kindOf } from "../../domain/evals/evaluators/index.ts";
import type { Audit, RowAudit } from "../../services/audit/audit.ts";
import {
  changeEvaluator,
  createEvaluator,
  deleteEvaluator,
  requireEvaluator,
} from "../../services/evals/evaluators.ts";
import { listEvaluators } from "../../stores/evals/evaluators.ts";
import type { EvaluatorRow } from "../../stores/evals/evaluators.ts";
import { stated } from "../../services/change.ts";
import type { ApiDeps } from "../deps.ts";
import { ETAG, asCreated, ifMatchHeaders, requireMatch, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { evaluatorSchema, presentEvaluator } from "./evaluator-presenter.ts";

const COMMON = { tag: "Evaluators", auth: "secret" } as const;
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
    template_id: z.string().max(100).nullish().describe("The template that supplies absent members."),
    type: definition.type.optional().describe("Expected without a template_id."),
    config: definition.config.unwrap().optional(),
    target: definition.target.unwrap().optional(),
    score: definition.score.unwrap().optional(),
    negate: z.boolean().optional(),
    weight: definition.weight.unwrap().optional(),
  })
  .refine(({ type, template_id }) => type !== undefined || template_id != null, {
    path: ["type"],
    message: "A type is expected, or a template_id",
  })
  .meta({ id: "EvaluatorCreate" });
const changeBody = z
  .strictObject({
    name: name.optional(),
    description: description.optional(),
    config: definition.config
      .unwrap()
      .optional()
      .describe("Takes the place of the present one, as score and target do."),
    target: definition.target.unwrap().optional(),
    score: definition.score.unwrap().optional(),
    negate: z.boolean().optional(),
    weight: definition.weight.unwrap().optional(),
  })
  .meta({ id: "EvaluatorChange" });

const templateSchema = z
  .object({
    template_id: z.string(),
    type: z.enum(EVALUATOR_TYPES),
    name: z.string(),
    description: z.string(),
    type_description: z.string(),
    config: z.record(z.string(), z.unknown()),
    score: z.object({ data_type: z.string(), direction: z.string(), pass_threshold: z.number().nullable() }),
    config_schema: z.record(z.string(), z.unknown()).describe("JSON Schema of the type's config."),
  })
  .meta({ id: "EvaluatorTemplate" });

const auditOf = (audit: Audit, id: string, principal: Principal): RowAudit<EvaluatorRow> => ({
  audit,
  target: { type: "evaluator", id },
  view: (row) => presentEvaluator(row, asViewer(principal)),
});

/** `/v2/evals/evaluators` and their templates: what says how good a run is. */
export function createEvaluatorOperations(deps: ApiDeps): Operation[] {
  const { db, reads } = deps;
  const toResponse = (row: EvaluatorRow, reader: Principal) =>
    tagged(presentEvaluator(row, reader), revisionTag(row.version));

  return [
    defineOperation({
      ...COMMON,
      id: "listEvaluators",
      method: "GET",
      path: EVALUATORS,
      summary: "List evaluators",
      description: "Newest first, with what each is set to.",
      query: listQuery.extend({ type: z.enum(EVALUATOR_TYPES).optional() }),
      success: { 200: { description: "A page of evaluators.", schema: pageOf(evaluatorSchema, "EvaluatorPage") } },
      async handler({ query, principal }) {
        const { org_id } = principal;
        const search = { type: query.type ?? null };
        return listPage({
          list: "evaluators",
          orgId: org_id,
          query,
          filters: search,
          fetch: (keyset) => reads.org(org_id, (connection) => listEvaluators(connection, search, keyset)),
          idOf: (row) => row.evaluator_id,
          present: (row) => presentEvaluator(row, principal),
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "createEvaluator",
      method: "POST",
      path: EVALUATORS,
      summary: "Create an evaluator",
      description: "Its type decides what `config` holds; `GET /v2/evals/evaluator-templates` has one of each.",
      body: createBody,
      idempotent: true,
      // The secret of a webhook is in the answer.
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
      success: {
        201: {
          description: "The evaluator.",
          schema: evaluatorSchema,
          headers: { Location: "Its address.", ...ETAG },
          links: { getEvaluator: linkTo("getEvaluator", ["evaluator_id"]) },
        },
      },
      async handler({ body: { name: called, description: text, template_id, ...given }, principal, newId, audit }) {
        const { org_id } = principal;
        const template = TEMPLATES.find((each) => each.template_id === template_id);
        if (template_id != null && template === undefined) throw notFound("evaluator template");
        const input =
          template === undefined ? given : { type: template.type, config: template.config, ...stated(given) };
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
    defineOperation({
      ...COMMON,
      id: "getEvaluator",
      method: "GET",
      path: EVALUATOR,
      summary: "Get an evaluator",
      description: "The version counts its changes; experiments pin it.",
      params,
      success: { 200: { description: "The evaluator.", schema: evaluatorSchema, headers: ETAG } },
      async handler({ params: { evaluator_id }, principal }) {
        const row = await db.org(principal.org_id, (connection) => requireEvaluator(connection, evaluator_id));
        return toResponse(row, principal);
      },
    }),
    defineOperation({
      ...COMMON,
      id: "changeEvaluator",
      method: "PATCH",
      path: EVALUATOR,
      summary: "Change an evaluator",
      description: "It has one version more: experiments go on with the one that they have pinned.",
      params,
      headers: ifMatchHeaders,
      body: changeBody,
      examples: { threshold: { score: { pass_threshold: 0.9 } }, rename: { name: "Correctness" } },
      success: { 200: { description: "The evaluator as it is now.", schema: evaluatorSchema, headers: ETAG } },
      async handler({ params: { evaluator_id }, headers, body, principal, audit }) {
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
    defineOperation({
      ...COMMON,
      id: "deleteEvaluator",
      method: "DELETE",
      path: EVALUATOR,
      summary: "Delete an evaluator",
      description:
        "An evaluator that experiments or monitors use cannot be deleted: `used_by` lists them, a hundred at most.",
      params,
      problems: ["in_use"],
      success: { 204: { description: "It is gone." } },
      async handler({ params: { evaluator_id }, principal, audit }) {
        await deleteEvaluator(deps, principal.org_id, evaluator_id, auditOf(audit, evaluator_id, principal));
        return { status: 204 };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "listEvaluatorTemplates",
      method: "GET",
      path: "/v2/evals/evaluator-templates",
      summary: "List templates of evaluators: one or more of each type",
      description: "Each can be sent as it is to create an evaluator.",
      success: {
        200: { description: "All of them.", schema: pageOf(templateSchema, "EvaluatorTemplatePage") },
      },
      async handler() {
        const data = TEMPLATES.map((template) => {
          const { data_type, direction, pass_threshold } = kindOf(template.type).score;
          return {
            template_id: template.template_id,
            type: template.type,
            name: template.name,
            description: template.description,
            type_description: kindOf(template.type).description,
            config: template.config,
            score: { data_type, direction, pass_threshold },
            config_schema: z.toJSONSchema(kindOf(template.type).config, { io: "input" }),
          };
        });
        return { status: 200, body: { data, cursor: null, has_more: false } };
      },
    }),
  ];
}
