import { z } from "zod";
import { flowJsonSchema } from "../../domain/flow/definition/flow-schema.ts";
import { nodeCatalogue, nodeKindsSchema } from "../../domain/flow/definition/node-catalogue.ts";
import { requireVisibleProject } from "../../services/projects/projects.ts";
import { contentTag, ETAG, ifNoneMatchHeaders, isCurrent } from "../http/etag.ts";
import { operationsOf } from "../http/operation.ts";
import { flowCheckSchema } from "../../domain/flow/validate/validate.ts";
import { flowSchema } from "./flow-version-presenter.ts";
import { EXAMPLE_FLOW } from "./example-flow.ts";

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
    body: z
      .strictObject({
        flow: flowSchema,
        project_id: z
          .uuid()
          .toLowerCase()
          .optional()
          .describe(
            "ID of the project that the flow is for. If you send it, a flow that calls itself is reported as a warning. A key that is restricted to projects must send one of them",
          ),
      })
      .meta({ id: "FlowValidate" }),
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
