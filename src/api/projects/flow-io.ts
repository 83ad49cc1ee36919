import { z } from "zod";
import { contentHash } from "../../domain/flow/definition/content-hash.ts";
import { IO_FORMATS, presentFlowIo } from "../../domain/flow/io/io-formats.ts";
import { describeFlow } from "../../domain/flow/io/io-schema.ts";
import type { FlowIo } from "../../domain/flow/io/io-schema.ts";
import { flowSnippets } from "../../domain/flow/io/snippets.ts";
import { findProject } from "../../stores/projects/projects.ts";
import { baseUrl } from "../http/base-url.ts";
import { flowLimits } from "../../services/projects/deploy-flow.ts";
import { readyDraft } from "../../services/projects/drafts.ts";
import { getProject } from "../../services/projects/projects.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { flowIoSchema, flowSnippetsSchema } from "./flow-io-presenter.ts";
import { environmentMember as environment, requireOneVersion } from "../http/environment.ts";
import { requireVersion } from "./flow-versions.ts";

const params = z.object({ project_id: pathId("project") });
const version = z.int().min(-1).max(2_147_483_647).default(-1).describe("Version number; -1 is the published version.");

/** The version to describe; see FlowCall. */
interface WantedIo {
  readonly version: number;
  readonly environment?: string | undefined;
}

const COMMON = { tag: "Project IO schemas", auth: "secret" } as const;

/** `/v2/projects/{project_id}/io-schema` and `/snippets`: how to call a flow. */
export function createFlowIoOperations({ db, config, evaluation }: ApiDeps): Operation[] {
  const limits = flowLimits(config);

  async function describeDraft(orgId: string, projectId: string): Promise<FlowIo> {
    const { flow } = await readyDraft({ db, evaluation, limits }, orgId, projectId, ["query", "draft"]);
    const { definition } = flow;
    const name = (await getProject(db, orgId, projectId))?.name ?? definition.name;
    const content_hash = contentHash(definition);
    return describeFlow(definition, { project_id: projectId, name, version: 0, content_hash }, limits);
  }

  async function describe(orgId: string, projectId: string, wanted: WantedIo): Promise<FlowIo> {
    requireOneVersion("query", wanted);
    const [found, project] = await db.org(orgId, async (connection) => [
      await requireVersion(connection, projectId, wanted.version, wanted.environment),
      await findProject(connection, projectId),
    ]);
    const { project_id, definition, content_hash } = found;
    const identity = { project_id, name: project?.name ?? definition.name, version: found.version, content_hash };
    return describeFlow(definition, identity, limits);
  }

  return [
    defineOperation({
      ...COMMON,
      id: "getIoSchema",
      method: "GET",
      path: "/v2/projects/{project_id}/io-schema",
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
      problems: ["flow_version_not_found", "environment_not_found", "environment_empty"],
      success: {
        200: {
          description: "The schema in the requested format.",
          schema: z.union([flowIoSchema, z.record(z.string(), z.unknown())]),
        },
      },
      async handler({ params: { project_id }, query, principal, ctx }) {
        const { org_id } = principal;
        const io = query.draft ? await describeDraft(org_id, project_id) : await describe(org_id, project_id, query);
        const address = { base_url: baseUrl(config, ctx), org_id, environment: query.environment };
        return { status: 200, body: presentFlowIo(io, query.format, address) };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getSnippets",
      method: "GET",
      path: "/v2/projects/{project_id}/snippets",
      summary: "Get code that calls a flow",
      description:
        "Returns code that calls the flow, ready to paste, with the inputs of the flow's first example. The code reads the API key from `MILLRACE_API_KEY`.",
      params,
      query: z.object({ version, environment }),
      problems: ["flow_version_not_found", "environment_not_found", "environment_empty"],
      success: { 200: { description: "The same call in three languages.", schema: flowSnippetsSchema } },
      async handler({ params: { project_id }, query, principal, ctx }) {
        const { environment: name } = query;
        const io = await describe(principal.org_id, project_id, query);
        const address = { base_url: baseUrl(config, ctx), org_id: principal.org_id, environment: name };
        return { status: 200, body: flowSnippets(io, address) };
      },
    }),
  ];
}
