import { z } from "zod";
import { ValidationProblem, invalid, noSuchVersion, notFound, required } from "../../domain/errors.ts";
import { PRODUCTION } from "../../domain/projects/environments.ts";
import type { Db } from "../../stores/db.ts";
import {
  findFlowVersion,
  findFlowVersionByContent,
  listFlowVersions,
  type FlowVersion,
  type FlowVersionHead,
} from "../../stores/projects/flow-versions.ts";
import { findProject, findProjectInEnvironments } from "../../stores/projects/projects.ts";
import { deployFlow, requireValidFlow } from "../../services/projects/deploy-flow.ts";
import { changeDraft, readyDraft } from "../../services/projects/drafts.ts";
import { versionIn } from "../../services/projects/environment-pointers.ts";
import { promote } from "../../services/projects/promote.ts";
import { seesSecrets, type Principal } from "../../domain/accounts/principal.ts";
import type { JsonObject } from "../../domain/json.ts";
import { maskLiterals } from "../../platform/logging/literal-secrets.ts";
import { ifMatchHeaders, revisionTag } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, linkTo } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId, pathVersion } from "../http/schemas.ts";
import { flowSchema, EXAMPLE_FLOW } from "./flow-schemas.ts";
import { requireDraftMatch, define } from "./drafts.ts";

const flowVersionSchema = named("FlowVersion", {
  project_id: z.uuid(),
  version: z.int(),
  content_hash: z
    .string()
    .describe("SHA-256 in hexadecimal digits of what the flow does; identical content has the same hash."),
  notes: z.string(),
  published: z.boolean().describe("Whether this is the version that -1 means."),
  created_by: z.uuid().nullable().describe("ID of the user or API key."),
  created_by_name: z
    .string()
    .nullable()
    .describe("Email address of the user or name of the API key; `null` if it no longer exists."),
  created_at: z.iso.datetime(),
});

const flowVersionWithFlowSchema = named("FlowVersionWithFlow", {
  ...flowVersionSchema.shape,
  flow: flowSchema,
});

const presentFlowVersion = (version: FlowVersionHead) => asDeclared(flowVersionSchema, version);

function presentFlowVersionWithFlow(
  version: FlowVersion,
  reader: Principal,
): z.infer<typeof flowVersionWithFlowSchema> {
  const flow = version.definition as unknown as JsonObject;
  return { ...presentFlowVersion(version), flow: seesSecrets(reader) ? flow : maskLiterals(flow) };
}

const projectParams = z.object({ project_id: pathId("project") });
const versionParams = z.object({ project_id: pathId("project"), version: pathVersion() });

const createBody = namedStrict("FlowVersionCreate", {
  flow: flowSchema.optional().describe("The flow. Required unless `draft` is true."),
  draft: z
    .literal(true)
    .optional()
    .describe("`true` deploys the project's draft instead of `flow`; the project then has no draft."),
  notes: z.string().max(10_000).default("").describe("Notes on the changes in this version."),
  publish: z.boolean().default(true).describe("Whether the new version becomes the published one."),
});

const IN_DRAFT = ["body", "draft"];

const LINKS = { get: linkTo("getFlowVersion", ["project_id", "version"]) };

/** `/v2/projects/{project_id}/versions`. */
export const flowVersionOperations = [
  define({
    id: "createFlowVersion",
    route: "POST /v2/projects/{project_id}/versions",
    summary: "Deploy a flow as a new version",
    description:
      "Deploys a flow as a new version of the project. Versions are immutable and numbered from 1. Deploying content identical to an earlier version returns that version (200); `ui` and the notes on nodes are not part of the content. With `draft: true`, that version gets the layout and notes of the draft. The version runs with the rights of the principal who deployed it last: to call flows of other projects, that principal needs the role `editor` there. With `draft: true` and `If-Match`, the response is 412 if the draft has changed.",
    params: projectParams,
    headers: ifMatchHeaders,
    body: createBody,
    wideBody: true,
    idempotent: true,
    problems: ["review_required"],
    examples: {
      deploy: { flow: EXAMPLE_FLOW, notes: "A warmer greeting" },
      draft: { draft: true, notes: "A warmer greeting" },
    },
    success: {
      200: {
        description: "An earlier version has identical content; it is returned.",
        schema: flowVersionSchema,
        links: LINKS,
      },
      201: created("The new version.", flowVersionSchema, LINKS),
    },
    async handler({ params: { project_id }, headers, body, principal, audit }, deps) {
      const { evaluation, limits, db, flows } = deps;
      const { org_id } = principal;
      requireOneFlow(body);
      const fromDraft = body.draft ? await readyDraft(deps, org_id, project_id, IN_DRAFT) : null;
      const flow = fromDraft?.flow ?? (await requireValidFlow(evaluation, org_id, body.flow, limits));
      const { notes, publish } = body;
      const deployment = {
        projectId: project_id,
        flow,
        notes,
        publish,
        deployer: principal,
        ...(fromDraft && { loc: IN_DRAFT, redraws: true }),
      };
      const { version, created } = await db.orgTransaction(org_id, async (connection) => {
        const deployed = await deployFlow(connection, deployment);
        if (fromDraft) {
          await changeDraft(connection, {
            project_id,
            flow: null,
            published_as: deployed.version.version,
            author: principal,
            async requireMatch(held, latest) {
              await requireDraftMatch(headers)(held, latest);
              // The draft must still be the one that was checked, or nothing is deployed.
              await requireDraftMatch({ "if-match": revisionTag(fromDraft.draft.revision) })(held, latest);
            },
          });
        }
        const target = { type: "project", id: project_id };
        // The flow belongs to the version and never changes.
        await audit(connection, { target, after: { ...presentFlowVersion(deployed.version), publish } });
        return deployed;
      });
      flows.invalidate(principal.org_id, project_id);
      const answer = presentFlowVersion(version);
      if (!created) return { status: 200, body: answer };
      return {
        status: 201,
        body: answer,
        headers: { Location: `/v2/projects/${version.project_id}/versions/${version.version}` },
      };
    },
  }),
  define({
    id: "listFlowVersions",
    route: "GET /v2/projects/{project_id}/versions",
    summary: "List a project's versions",
    description: "Lists the versions of a project, newest first, without their flows.",
    params: projectParams,
    query: listQuery,
    success: { 200: { description: "A page of versions, without their flows.", schema: pageOf(flowVersionSchema) } },
    async handler({ params: { project_id }, query, principal }, { db }) {
      return db.org(principal.org_id, async (connection) => {
        if (!(await findProject(connection, project_id))) throw notFound("project");
        return listPage("flow-versions", principal.org_id, query, {
          filters: { project_id: project_id.toLowerCase() },
          fetch: (keyset) => listFlowVersions(connection, project_id, keyset),
          idOf: (version) => String(version.version),
          isId: (text) => /^[1-9]\d{0,9}$/.test(text),
          present: presentFlowVersion,
        });
      });
    },
  }),
  define({
    id: "getFlowVersion",
    route: "GET /v2/projects/{project_id}/versions/{version}",
    summary: "Get a version and its flow",
    description:
      "Returns a version with its flow as it was deployed; -1 is the published version. A number below -1 is the `flow_version` of a run of a draft, and returns the flow that this run executes. Credentials written into the flow are masked for viewers.",
    params: versionParams,
    problems: ["flow_version_not_found"],
    success: { 200: { description: "The version.", schema: flowVersionWithFlowSchema } },
    async handler({ params: { project_id, version }, principal }, { db }) {
      const found = await db.org(principal.org_id, (connection) => requireAnyVersion(connection, project_id, version));
      return { status: 200, body: presentFlowVersionWithFlow(found, principal) };
    },
  }),
  define({
    id: "publishFlowVersion",
    route: "POST /v2/projects/{project_id}/versions/{version}/publish",
    summary: "Publish a version",
    description:
      "Makes this version the published one: promotes it to the environment production, which keeps its connections. Rolls forward or back. Runs in progress keep their version; new runs use this one within a second. Returns 409 `review_required` if production needs reviews.",
    params: versionParams,
    idempotent: true,
    problems: ["flow_version_not_found", "conflict", "review_required"],
    success: { 200: { description: "The version, now published.", schema: flowVersionSchema } },
    async handler({ params: { project_id, version }, principal, audit }, { db, flows }) {
      const published = await db.orgTransaction(principal.org_id, async (connection) => {
        const found = await requireVersion(connection, project_id, version);
        const { before } = await promote(connection, {
          project_id,
          environment: PRODUCTION,
          version: found.version,
          notes: "",
          promoter: principal,
        });
        await audit(connection, {
          target: { type: "project", id: project_id },
          before: { published_version: before.version },
          after: { published_version: found.version },
        });
        return findFlowVersionByContent(connection, project_id, found.content_hash);
      });
      if (!published) throw noSuchVersion();
      flows.invalidate(principal.org_id, project_id);
      return { status: 200, body: presentFlowVersion(published) };
    },
  }),
];

/** Throws 422 unless a body contains exactly one flow. */
function requireOneFlow({ flow, draft }: z.output<typeof createBody>): void {
  if (flow === undefined && draft === undefined)
    throw new ValidationProblem([{ loc: ["body", "flow"], msg: "Field required", type: "missing" }]);
  if (flow !== undefined && draft !== undefined) throw invalid(["body", "draft"], "Send flow or draft, not both");
}

/** The version of a project; -1 means that of the environment, or the published one. Throws the 404 of the project or of the version. */
export async function requireVersion(
  db: Db,
  projectId: string,
  version: number,
  environment?: string,
): Promise<FlowVersion> {
  const found = await requireAnyVersion(db, projectId, version, environment);
  if (found.version < 1) throw noSuchVersion();
  return found;
}

/** The version of a project, or the document of a draft that a run executes. */
async function requireAnyVersion(
  db: Db,
  projectId: string,
  version: number,
  environment?: string,
): Promise<FlowVersion> {
  const project = required(await findProjectInEnvironments(db, projectId), "project");
  const number = version === -1 ? versionIn(project, environment).version : version;
  const found = await findFlowVersion(db, projectId, number);
  if (!found) throw noSuchVersion();
  return found;
}
