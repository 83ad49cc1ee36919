import { z } from "zod";
import { visibleProjects } from "../../domain/accounts/principal.ts";
import { notFound } from "../../domain/errors.ts";
import { flowJsonSchema } from "../../domain/flow/definition/flow-schema.ts";
import { flowModels } from "../../domain/flow/references.ts";
import { modelProblems } from "../../services/models/model-problems.ts";
import { readPrices } from "../../services/models/read-prices.ts";
import { flowLimits, isError, problemsOfOthers } from "../../services/projects/deploy-flow.ts";
import { secretProblems } from "../../services/projects/secret-problems.ts";
import { requireProject } from "../../services/projects/projects.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { flowValidationSchema } from "./flow-io-presenter.ts";
import { flowSchema } from "./flow-version-presenter.ts";
import { EXAMPLE_FLOW } from "./example-flow.ts";

const COMMON = { tag: "Flows", auth: "secret" } as const;

/** `/v2/flows`: checking a flow before it is deployed. Nothing is executed or stored. */
export function createFlowOperations({ config, db, evaluation }: ApiDeps): Operation[] {
  const limits = flowLimits(config);
  const schema = flowJsonSchema();
  const prices = readPrices(config.MILLRACE_MODEL_PRICES_FILE);
  return [
    defineOperation({
      ...COMMON,
      id: "validateFlow",
      audit: "never",
      method: "POST",
      path: "/v2/flows/validate",
      summary: "Check a flow",
      description: "Tells every problem at once. Nothing is executed or stored.",
      role: "viewer",
      wideBody: true,
      body: z
        .strictObject({
          flow: flowSchema,
          project_id: z
            .uuid()
            .toLowerCase()
            .optional()
            .describe("The project that the flow is for: with it, a flow that calls itself is a warning"),
        })
        .meta({ id: "FlowValidate" }),
      examples: { flow: { flow: EXAMPLE_FLOW } },
      success: { 200: { description: "Whether it can be deployed, and why not.", schema: flowValidationSchema } },
      problems: ["not_found"],
      async handler({ body, principal }) {
        const { org_id } = principal;
        const visible = visibleProjects(principal);
        if (body.project_id !== undefined && visible?.includes(body.project_id) === false) throw notFound("project");
        if (body.project_id !== undefined) await requireProject(db, org_id, body.project_id, "project");
        const checked = await evaluation.flow(org_id, body.flow, limits);
        const ofOthers = checked.valid
          ? await db.org(org_id, (connection) =>
              Promise.all([
                problemsOfOthers(connection, checked.definition, body.project_id, visible),
                modelProblems(connection, config, flowModels(checked.definition), {
                  max_cost_usd: checked.definition.settings?.max_cost_usd,
                  prices,
                }),
              ]),
            )
          : [];
        const secrets = checked.valid ? secretProblems(checked.definition) : [];
        const problems = [...checked.problems, ...secrets, ...ofOthers.flat()];
        return { status: 200, body: { valid: !problems.some(isError), problems } };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getFlowSchema",
      method: "GET",
      path: "/v2/flows/schema",
      summary: "Get the JSON Schema of the flow format",
      description: "JSON Schema 2020-12, for editors. It cannot say all that validation checks.",
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
  ];
}
