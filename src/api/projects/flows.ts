import { z } from "zod";
import { flowJsonSchema } from "../../domain/flow/definition/flow-schema.ts";
import { nodeCatalogue, nodeKindsSchema } from "../../domain/flow/definition/node-catalogue.ts";
import { requireVisibleProject } from "../../services/projects/projects.ts";
import { flowCheckSchema } from "../../domain/flow/validate/validate.ts";
import { Problem } from "../../domain/errors.ts";
import { nodeIdSchema } from "../../domain/flow/definition/definition.ts";
import { MAX_TEMPLATE_CHARS } from "../../domain/flow/expressions/liquid/engine.ts";
import type { Scope } from "../../domain/flow/scope.ts";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import type { Json } from "../../domain/json.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { beginning } from "../../domain/marks.ts";
import { ChildPoolError } from "../../platform/children/pool-failure.ts";
import { contentTag, ETAG, ifNoneMatchHeaders, isCurrent } from "../http/etag.ts";
import { operationsOf } from "../http/operation.ts";
import { givenId, named, namedStrict } from "../http/schemas.ts";
import { flowSchema, EXAMPLE_FLOW } from "./flow-schemas.ts";

const schema = flowJsonSchema();
const kinds = { data: nodeCatalogue() };
const kindsTag = contentTag(kinds);

const define = operationsOf({ tag: "Flows", auth: "secret" });

/** `/v2/flows`: validate a flow before it is deployed. Nothing is executed or stored. */
export const flowOperations = [
  define({
    id: "validateFlow",
    audit: "never",
    route: "POST /v2/flows/validate",
    summary: "Validate a flow",
    description:
      "Checks a flow and returns all problems together. With `expand=scope`, also returns what the expressions of each node can read, nested flows included, and for each edge whether it fits. Nothing is executed or stored.",
    role: "viewer",
    wideBody: true,
    query: z.object({
      expand: z.enum(["scope"]).optional().describe("`scope` adds the values that each node can read."),
    }),
    body: namedStrict("FlowValidate", {
      flow: flowSchema,
      project_id: givenId
        .optional()
        .describe(
          "ID of the project that the flow is for. If you send it, a flow that calls itself is reported as a warning. A key that is restricted to projects must send one of them",
        ),
    }),
    examples: { flow: { flow: EXAMPLE_FLOW } },
    success: { 200: { description: "The result of the validation.", schema: flowCheckSchema } },
    problems: ["not_found"],
    async handler({ query, body, principal }, { db, checkFlow }) {
      if (body.project_id !== undefined) await requireVisibleProject(db, principal, body.project_id);
      const options = { scope: query.expand === "scope" };
      const { valid, problems, scope } = await checkFlow(principal, body.flow, body.project_id, options);
      return { status: 200, body: { valid, problems, ...(scope && { scope }) } };
    },
  }),
  define({
    id: "getFlowSchema",
    route: "GET /v2/flows/schema",
    summary: "Get the JSON Schema of the flow format",
    description:
      "Returns the flow format as JSON Schema 2020-12, for editors. Some rules of `validateFlow` cannot be expressed in it.",
    success: {
      200: {
        description: "A JSON Schema (2020-12).",
        content: { "application/schema+json": z.record(z.string(), z.unknown()) },
      },
    },
    async handler() {
      return { status: 200, type: "application/schema+json", content: JSON.stringify(schema) };
    },
  }),
  define({
    id: "listNodeKinds",
    route: "GET /v2/flows/node-kinds",
    summary: "List the node types",
    description:
      "Lists for flow editors what each node type does, the schema of its configuration, its handles and its defaults. The list changes only with the installed release: cache it and send `If-None-Match`.",
    headers: ifNoneMatchHeaders,
    success: {
      200: { description: "The node types.", schema: nodeKindsSchema, headers: ETAG },
      304: { description: "The cached list is current.", headers: ETAG },
    },
    async handler({ headers }) {
      const caching = { ETag: kindsTag, "Cache-Control": "private, no-cache" };
      if (isCurrent(headers["if-none-match"], kindsTag)) return { status: 304, headers: caching };
      return { status: 200, body: kinds, headers: caching };
    },
  }),
];

/** Longest result that is returned as a whole (characters of JSON). */
const MAX_RESULT_CHARS = 100_000;
const PREVIEW_CHARS = 10_000;
const NO_RUN = { id: "00000000-0000-0000-0000-000000000000", user_id: null, metadata: {} };

const evaluateBody = namedStrict("ExpressionEvaluate", {
  project_id: givenId
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
});

const resultSchema = named("EvaluatedExpression", {
  value: jsonValueSchema.describe(
    "The text or value; `null` if there is an error. A long value is `{$truncated: true, size, preview}`.",
  ),
  error: z
    .object({ code: z.string(), message: z.string() })
    .nullable()
    .describe("The error that a node would have; `null` if there is none."),
});

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
    body: evaluateBody,
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
