import { z } from "zod";
import { contentHash } from "../../domain/flow/definition/content-hash.ts";
import { IO_FORMATS, presentFlowIo } from "../../domain/flow/io/io-formats.ts";
import { describeFlow, flowIoSchema, type FlowIo } from "../../domain/flow/io/io-schema.ts";
import { flowSnippets, flowSnippetsSchema } from "../../domain/flow/io/snippets.ts";
import { findProject } from "../../stores/projects/projects.ts";
import { readyDraft } from "../../services/projects/drafts.ts";
import { getProject } from "../../services/projects/projects.ts";
import type { HandlerDeps } from "../deps.ts";
import { baseUrl } from "../http/addresses.ts";
import { operationsOf } from "../http/operation.ts";
import { pathId } from "../http/schemas.ts";
import { VERSION_PROBLEMS, environmentMember as environment, requireOneVersion } from "../http/run-request.ts";
import { requireVersion } from "./flow-versions.ts";

const params = z.object({ project_id: pathId("project") });
const version = z.int().min(-1).max(2_147_483_647).default(-1).describe("Version number; -1 is the published version.");

async function describeDraft(deps: HandlerDeps, orgId: string, projectId: string): Promise<FlowIo> {
  const { flow } = await readyDraft(deps, orgId, projectId, ["query", "draft"]);
  const { definition } = flow;
  const name = (await getProject(deps.db, orgId, projectId))?.name ?? definition.name;
  const content_hash = contentHash(definition);
  return describeFlow(definition, { project_id: projectId, name, version: 0, content_hash }, deps.limits);
}

async function describe(
  { db, limits }: HandlerDeps,
  orgId: string,
  projectId: string,
  wanted: { readonly version: number; readonly environment?: string | undefined },
): Promise<FlowIo> {
  requireOneVersion("query", wanted);
  const [found, project] = await db.org(orgId, async (connection) => [
    await requireVersion(connection, projectId, wanted.version, wanted.environment),
    await findProject(connection, projectId),
  ]);
  const { project_id, definition, content_hash } = found;
  const identity = { project_id, name: project?.name ?? definition.name, version: found.version, content_hash };
  return describeFlow(definition, identity, limits);
}

const define = operationsOf({ tag: "Project IO schemas", auth: "secret" });

/** `/v2/projects/{project_id}/io-schema` and `/snippets`: how to call a flow. */
export const flowIoOperations = [
  define({
    id: "getIoSchema",
    route: "GET /v2/projects/{project_id}/io-schema",
    summary: "Get a flow's input and output schema",
    description:
      "Returns the inputs and outputs of a version as JSON Schema, as an OpenAPI document of the run operation, or as an MCP tool definition.",
    params,
    query: z.object({
      version,
      environment,
      draft: z
        .boolean()
        .default(false)
        .describe("`true` describes the project's draft and ignores `version`; the returned `version` is 0."),
      format: z
        .enum(IO_FORMATS)
        .default("jsonschema")
        .describe("`openapi` returns a document for this flow alone, `mcp` a tool definition."),
    }),
    problems: VERSION_PROBLEMS,
    success: {
      200: {
        description: "The schema in the requested format.",
        schema: z.union([flowIoSchema, z.record(z.string(), z.unknown())]),
      },
    },
    async handler({ params: { project_id }, query, principal, ctx }, deps) {
      const { org_id } = principal;
      const io = query.draft
        ? await describeDraft(deps, org_id, project_id)
        : await describe(deps, org_id, project_id, query);
      const address = { base_url: baseUrl(deps.config, ctx), org_id, environment: query.environment };
      return { status: 200, body: presentFlowIo(io, query.format, address) };
    },
  }),
  define({
    id: "getSnippets",
    route: "GET /v2/projects/{project_id}/snippets",
    summary: "Get code that calls a flow",
    description:
      "Returns code that calls the flow, ready to paste, with the inputs of the flow's first example. The code reads the API key from `MILLRACE_API_KEY`.",
    params,
    query: z.object({ version, environment }),
    problems: VERSION_PROBLEMS,
    success: { 200: { description: "The same call in three languages.", schema: flowSnippetsSchema } },
    async handler({ params: { project_id }, query, principal, ctx }, deps) {
      const { environment: name } = query;
      const io = await describe(deps, principal.org_id, project_id, query);
      const address = { base_url: baseUrl(deps.config, ctx), org_id: principal.org_id, environment: name };
      return { status: 200, body: flowSnippets(io, address) };
    },
  }),
];
