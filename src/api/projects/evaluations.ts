import { z } from "zod";
import { Problem } from "../../domain/errors.ts";
import { nodeIdSchema } from "../../domain/flow/definition/definition.ts";
import { MAX_TEMPLATE_CHARS } from "../../domain/flow/expressions/liquid/engine.ts";
import type { Scope } from "../../domain/flow/scope.ts";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import type { Json } from "../../domain/json.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { beginning } from "../../domain/marks.ts";
import { ChildPoolError } from "../../platform/children/child-pool.ts";
import { requireVisibleProject } from "../../services/projects/projects.ts";
import { operationsOf } from "../http/operation.ts";

/** Longest result that is returned as a whole (characters of JSON). */
const MAX_RESULT_CHARS = 100_000;
const PREVIEW_CHARS = 10_000;
const NO_RUN = { id: "00000000-0000-0000-0000-000000000000", user_id: null, metadata: {} };

const body = z
  .strictObject({
    project_id: z
      .uuid()
      .toLowerCase()
      .optional()
      .describe(
        "ID of the project that the expression is for. A key that is restricted to projects must send one of them.",
      ),
    language: z.enum(["liquid", "cel"]),
    source: z.string().max(MAX_TEMPLATE_CHARS).describe("The template or expression."),
    nodes: z.record(nodeIdSchema, jsonValueSchema).default({}).describe("Values of nodes by node ID."),
    inputs: jsonObjectSchema.default({}).describe("Inputs of the run by node ID."),
    run: z
      .strictObject({ id: z.uuid(), user_id: z.string().nullable(), metadata: jsonObjectSchema })
      .optional()
      .describe("The run. If omitted, a run without a user and metadata."),
    item: jsonValueSchema.optional().describe("The item of a map's iteration."),
    index: z.int().min(0).optional().describe("The number of a map's or loop's iteration, from 0."),
    last: jsonValueSchema.optional().describe("The value of a loop's last iteration."),
  })
  .meta({ id: "ExpressionEvaluate" });

const resultSchema = z
  .object({
    value: jsonValueSchema.describe(
      "The text or value; `null` if there is an error. A long value is `{$truncated: true, size, preview}`.",
    ),
    error: z
      .object({ code: z.string(), message: z.string() })
      .nullable()
      .describe("The error that a node would have; `null` if there is none."),
  })
  .meta({ id: "EvaluatedExpression" });

const define = operationsOf({ tag: "Flows", auth: "secret" });

/** `/v2/flows/evaluate`: what an expression returns for given values, for previews in editors. */
export const evaluationOperations = [
  define({
    id: "evaluateExpression",
    audit: "never",
    route: "POST /v2/flows/evaluate",
    summary: "Evaluate an expression",
    description:
      "Evaluates a Liquid template or a CEL expression with the values in the request, by the rules and limits of a run. An expression that fails is a 200 with `error`. Nothing is executed or stored.",
    role: "viewer",
    wideBody: true,
    body,
    examples: {
      template: { language: "liquid", source: "Good morning, {{ in-0 }}!", nodes: { "in-0": "Ada" } },
      expression: { language: "cel", source: 'size(nodes["in-0"]) > 2', nodes: { "in-0": "Ada" } },
    },
    success: { 200: { description: "The result or the error.", schema: resultSchema } },
    problems: ["not_found", "service_unavailable"],
    async handler({ body: { project_id, language, source, run = NO_RUN, ...values }, principal }, { db, evaluation }) {
      if (project_id !== undefined) await requireVisibleProject(db, principal, project_id);
      try {
        const scope = { ...values, run } as Scope;
        const [value = null] = await evaluation.sources(principal.org_id, [{ language, source }], scope);
        return { status: 200, body: { value: shortened(value), error: null } };
      } catch (error) {
        if (error instanceof NodeFailure)
          return { status: 200, body: { value: null, error: { code: error.code, message: error.message } } };
        if (!(error instanceof ChildPoolError)) throw error;
        const headers = { "Retry-After": "1" };
        throw new Problem("service_unavailable", "Too many evaluations at the same time. Retry.", { headers });
      }
    },
  }),
];

function shortened(value: Json): Json {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length <= MAX_RESULT_CHARS) return value;
  return { $truncated: true, size: Buffer.byteLength(text), preview: beginning(text, PREVIEW_CHARS) };
}
