import { z } from "zod";
import { IO_FORMATS, presentFlowIo } from "../../domain/flow/io/io-formats.ts";
import { describeFlow } from "../../domain/flow/io/io-schema.ts";
import type { FlowIo } from "../../domain/flow/io/io-schema.ts";
import { flowSnippets } from "../../domain/flow/io/snippets.ts";
import { findProject } from "../../stores/projects/projects.ts";
import { baseUrl } from "../http/base-url.ts";
import { flowLimits } from "../../services/projects/deploy-flow.ts";
import type { ApiDeps } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { flowIoSchema, flowSnippetsSchema } from "./flow-io-presenter.ts";
import { requireVersion } from "./flow-versions.ts";

const params = z.object({ project_id: pathId("project") });
const version = z.int().min(-1).max(2_147_483_647).default(-1).describe("-1 is the published version.");

const COMMON = { tag: "Project IO schemas", auth: "secret" } as const;

/** `/v2/projects/{project_id}/io-schema` and `/snippets`: how a flow is called. */
export function createFlowIoOperations({ db, config }: ApiDeps): Operation[] {
  const limits = flowLimits(config);

  async function describe(orgId: string, projectId: string, wanted: number): Promise<FlowIo> {
    const [found, project] = await db.org(orgId, async (connection) => [
      await requireVersion(connection, projectId, wanted),
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
      summary: "Describe what a flow takes and gives",
      description:
        "The inputs and outputs of a version as JSON Schema, as an OpenAPI document of the run operation, or as a tool of the Model Context Protocol.",
      params,
      query: z.object({
        version,
        format: z
          .enum(IO_FORMATS)
          .default("jsonschema")
          .describe("openapi: a document of this one flow; mcp: a tool definition."),
      }),
      problems: ["flow_version_not_found"],
      success: {
        200: {
          description: "The description, in the format asked for.",
          schema: z.union([flowIoSchema, z.record(z.string(), z.unknown())]),
        },
      },
      async handler({ params: { project_id }, query, principal, ctx }) {
        const io = await describe(principal.org_id, project_id, query.version);
        const address = { base_url: baseUrl(config, ctx), org_id: principal.org_id };
        return { status: 200, body: presentFlowIo(io, query.format, address) };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getSnippets",
      method: "GET",
      path: "/v2/projects/{project_id}/snippets",
      summary: "Get code that calls a flow",
      description: "Ready to paste, with the inputs of the flow's first example. The key comes from MILLRACE_API_KEY.",
      params,
      query: z.object({ version }),
      problems: ["flow_version_not_found"],
      success: { 200: { description: "The same call in three languages.", schema: flowSnippetsSchema } },
      async handler({ params: { project_id }, query, principal, ctx }) {
        const io = await describe(principal.org_id, project_id, query.version);
        return { status: 200, body: flowSnippets(io, { base_url: baseUrl(config, ctx), org_id: principal.org_id }) };
      },
    }),
  ];
}
