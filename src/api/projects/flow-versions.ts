import { z } from "zod";
import { visibleProjects } from "../../domain/accounts/principal.ts";
import { noSuchVersion, notFound, required } from "../../domain/errors.ts";
import { flowReferences } from "../../domain/flow/references.ts";
import type { Db } from "../../stores/db.ts";
import { findFlowVersion, findFlowVersionByContent, listFlowVersions } from "../../stores/projects/flow-versions.ts";
import type { FlowVersion } from "../../stores/projects/flow-versions.ts";
import { findProject, lockProject, publishVersion } from "../../stores/projects/projects.ts";
import { deployFlow, flowLimits, requireValidFlow } from "../../services/projects/deploy-flow.ts";
import { requireReferences } from "../../services/projects/flow-references.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId, pathVersion } from "../http/path-id.ts";
import {
  flowSchema,
  flowVersionSchema,
  flowVersionWithFlowSchema,
  presentFlowVersion,
  presentFlowVersionWithFlow,
} from "./flow-version-presenter.ts";
import { EXAMPLE_FLOW } from "./example-flow.ts";

const projectParams = z.object({ project_id: pathId("project") });
const versionParams = z.object({ project_id: pathId("project"), version: pathVersion() });

const createBody = z
  .strictObject({
    flow: flowSchema,
    notes: z.string().max(10_000).default("").describe("Notes on its changes."),
    publish: z.boolean().default(true).describe("Whether version -1 means it from now on."),
  })
  .meta({ id: "FlowVersionCreate" });

const LINKS = { get: linkTo("getFlowVersion", ["project_id", "version"]) };

const COMMON = { tag: "Flow versions", auth: "secret" } as const;

/** `/v2/projects/{project_id}/versions`. */
export function createFlowVersionOperations({ db, config, evaluation }: ApiDeps, { flows }: ApiServices): Operation[] {
  const limits = flowLimits(config);
  return [
    defineOperation({
      ...COMMON,
      id: "createFlowVersion",
      method: "POST",
      path: "/v2/projects/{project_id}/versions",
      summary: "Deploy a flow as a new version",
      description:
        "Versions are immutable and count from 1. A flow with the content of an earlier version is that version.",
      params: projectParams,
      body: createBody,
      wideBody: true,
      idempotent: true,
      examples: { deploy: { flow: EXAMPLE_FLOW, notes: "A warmer greeting" } },
      success: {
        200: { description: "There was a version with this content already.", schema: flowVersionSchema, links: LINKS },
        201: {
          description: "The new version.",
          schema: flowVersionSchema,
          headers: { Location: "Its address." },
          links: LINKS,
        },
      },
      async handler({ params: { project_id }, body, principal, audit }) {
        const flow = await requireValidFlow(evaluation, principal.org_id, body.flow, limits);
        const { notes, publish } = body;
        const deployment = {
          orgId: principal.org_id,
          projectId: project_id,
          flow,
          notes,
          publish,
          createdBy: principal.id,
          visible: visibleProjects(principal),
        };
        const { version, created } = await db.orgTransaction(principal.org_id, async (connection) => {
          const deployed = await deployFlow(connection, deployment);
          const target = { type: "project", id: project_id };
          // The flow comes from the version and never changes.
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
    defineOperation({
      ...COMMON,
      id: "listFlowVersions",
      method: "GET",
      path: "/v2/projects/{project_id}/versions",
      summary: "List a project's versions",
      description: "Newest first, without their flows.",
      params: projectParams,
      query: listQuery,
      success: {
        200: {
          description: "A page of versions, without their flows.",
          schema: pageOf(flowVersionSchema, "FlowVersionPage"),
        },
      },
      async handler({ params: { project_id }, query, principal }) {
        return db.org(principal.org_id, async (connection) => {
          if (!(await findProject(connection, project_id))) throw notFound("project");
          return listPage({
            list: "flow-versions",
            orgId: principal.org_id,
            query,
            filters: { project_id: project_id.toLowerCase() },
            fetch: (keyset) => listFlowVersions(connection, project_id, keyset),
            idOf: (version) => String(version.version),
            isId: (text) => /^[1-9]\d{0,9}$/.test(text),
            present: presentFlowVersion,
          });
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getFlowVersion",
      method: "GET",
      path: "/v2/projects/{project_id}/versions/{version}",
      summary: "Get a version with its flow",
      description:
        "The flow as it was deployed; -1 is the published version. Credentials written into it are masked for viewers.",
      params: versionParams,
      problems: ["flow_version_not_found"],
      success: { 200: { description: "The version.", schema: flowVersionWithFlowSchema } },
      async handler({ params: { project_id, version }, principal }) {
        const found = await db.org(principal.org_id, (connection) => requireVersion(connection, project_id, version));
        return { status: 200, body: presentFlowVersionWithFlow(found, principal) };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "publishFlowVersion",
      method: "POST",
      path: "/v2/projects/{project_id}/versions/{version}/publish",
      summary: "Make a version the published one",
      description:
        "Forward or back. Runs under way keep the version they began with; new ones take this one within a second.",
      params: versionParams,
      idempotent: true,
      problems: ["flow_version_not_found", "conflict"],
      success: { 200: { description: "The version, now published.", schema: flowVersionSchema } },
      async handler({ params: { project_id, version }, principal, audit }) {
        const published = await db.orgTransaction(principal.org_id, async (connection) => {
          const project = required(await lockProject(connection, project_id), "project");
          const found = await requireVersion(connection, project_id, version);
          await requireReferences(connection, flowReferences(found.definition));
          await publishVersion(connection, project_id, found.version);
          await audit(connection, {
            target: { type: "project", id: project_id },
            before: { published_version: project.published_version },
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
}

/** The version of a project, -1: the published one. Throws the 404 of the project or of the version. */
export async function requireVersion(db: Db, projectId: string, version: number): Promise<FlowVersion> {
  const project = required(await findProject(db, projectId), "project");
  const number = version === -1 ? project.published_version : version;
  const found = number === null ? null : await findFlowVersion(db, projectId, number);
  if (!found) throw noSuchVersion();
  return found;
}
