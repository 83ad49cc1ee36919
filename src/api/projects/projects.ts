import { z } from "zod";
import { visibleProjects } from "../../domain/accounts/principal.ts";
import { notFound, required } from "../../domain/errors.ts";
import {
  findProject,
  insertProject,
  listProjects,
  lockProject,
  updateProject,
} from "../../stores/projects/projects.ts";
import type { Project } from "../../stores/projects/projects.ts";
import { changeLocked } from "../../services/change.ts";
import { deleteProject } from "../../services/projects/delete-project.ts";
import { deployFlow, flowLimits, requireValidFlow } from "../../services/projects/deploy-flow.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { ETAG, asCreated, ifMatchHeaders, requireMatch, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { flowSchema } from "./flow-version-presenter.ts";
import { presentProject, projectSchema } from "./project-presenter.ts";
import { EXAMPLE_FLOW } from "./example-flow.ts";

const params = z.object({ project_id: pathId("project") });
const name = z.string().trim().min(1).max(200);
const description = z.string().max(10_000);

const createBody = z
  .strictObject({
    name,
    description: description.default(""),
    flow: flowSchema.optional().describe("Deployed as version 1."),
    publish: z.boolean().default(true).describe("Whether that version is published."),
  })
  .meta({ id: "ProjectCreate" });
const changeBody = z
  .strictObject({ name: name.optional(), description: description.optional() })
  .meta({ id: "ProjectChange" });

const LINKS = {
  get: linkTo("getProject", ["project_id"]),
  versions: linkTo("createFlowVersion", ["project_id"]),
};

const COMMON = { tag: "Projects", auth: "secret" } as const;

/** `/v2/projects`. */
export function createProjectOperations(deps: ApiDeps, { flows }: ApiServices): Operation[] {
  const { db, reads, config, runs: starter, feed, observer, logger, evaluation } = deps;
  const control = { db, starter, feed, observer, logger };
  const limits = flowLimits(config);
  const toResponse = (project: Project) => tagged(presentProject(project), revisionTag(project.revision));
  return [
    defineOperation({
      ...COMMON,
      id: "createProject",
      method: "POST",
      path: "/v2/projects",
      summary: "Create a project, with its flow if there is one already",
      description:
        "A project holds a flow and its versions. With `flow` the first version is made at once, and published unless `publish` is false.",
      body: createBody,
      wideBody: true,
      idempotent: true,
      examples: { flow: { name: "Greeter", flow: EXAMPLE_FLOW }, empty: { name: "Greeter" } },
      success: {
        201: {
          description: "The project.",
          schema: projectSchema,
          headers: { Location: "Its address.", ...ETAG },
          links: LINKS,
        },
      },
      async handler({ body, principal, newId, audit }) {
        const { org_id } = principal;
        const flow = body.flow && (await requireValidFlow(evaluation, org_id, body.flow, limits));
        const project_id = newId();
        const project = await db.orgTransaction(org_id, async (connection) => {
          const created = await insertProject(connection, {
            project_id,
            org_id,
            name: body.name,
            description: body.description,
          });
          if (created && flow) {
            const deployment = {
              orgId: org_id,
              projectId: project_id,
              flow,
              notes: "",
              publish: body.publish,
              createdBy: principal.id,
              visible: visibleProjects(principal),
            };
            await deployFlow(connection, deployment);
          }
          const found = await findProject(connection, project_id);
          if (found)
            await audit(connection, { target: { type: "project", id: project_id }, after: presentProject(found) });
          return found;
        });
        if (!project) throw notFound("project");
        return asCreated(toResponse(project), `/v2/projects/${project_id}`);
      },
    }),
    defineOperation({
      ...COMMON,
      id: "listProjects",
      method: "GET",
      path: "/v2/projects",
      summary: "List projects",
      description: "Newest first, without their flows. Whoever has roles in single projects only sees these.",
      query: listQuery,
      success: { 200: { description: "A page of projects.", schema: pageOf(projectSchema, "ProjectPage") } },
      async handler({ query, principal }) {
        return listPage({
          list: "projects",
          orgId: principal.org_id,
          query,
          fetch: (keyset) =>
            reads.org(principal.org_id, (connection) => listProjects(connection, keyset, visibleProjects(principal))),
          idOf: (project) => project.project_id,
          present: presentProject,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getProject",
      method: "GET",
      path: "/v2/projects/{project_id}",
      summary: "Get a project",
      description: "With the number of its published version and of its latest one.",
      params,
      success: { 200: { description: "The project.", schema: projectSchema, headers: ETAG } },
      async handler({ params: { project_id }, principal }) {
        const project = await db.org(principal.org_id, (connection) => findProject(connection, project_id));
        if (!project) throw notFound("project");
        return toResponse(project);
      },
    }),
    defineOperation({
      ...COMMON,
      id: "changeProject",
      method: "PATCH",
      path: "/v2/projects/{project_id}",
      summary: "Change a project's name or description",
      description: "Members left out stay as they are. To change the flow itself, add a version.",
      params,
      headers: ifMatchHeaders,
      body: changeBody,
      examples: { rename: { name: "Greeter of guests" } },
      success: { 200: { description: "The project as it is now.", schema: projectSchema, headers: ETAG } },
      async handler({ params: { project_id }, headers, body, principal, audit }) {
        const project = await changeLocked(db, principal.org_id, {
          async lock(connection) {
            return required(await lockProject(connection, project_id), "project");
          },
          requireMatch: ({ revision }) => requireMatch(headers["if-match"], revisionTag(revision)),
          audited: { audit, target: { type: "project", id: project_id }, view: presentProject },
          async write(connection, found) {
            if (body.name === undefined && body.description === undefined) return found;
            return updateProject(connection, project_id, {
              name: body.name ?? null,
              description: body.description ?? null,
            });
          },
        });
        if (!project) throw notFound("project");
        flows.invalidate(principal.org_id, project_id);
        return toResponse(project);
      },
    }),
    defineOperation({
      ...COMMON,
      id: "deleteProject",
      method: "DELETE",
      path: "/v2/projects/{project_id}",
      summary: "Delete a project with all its versions, triggers and monitors",
      description:
        "A project whose flow is called by another's published flow is in use and stays: `used_by` lists the callers, a hundred at most. One with runs that have not ended stays as well, unless they are to be cancelled.",
      params,
      query: z.object({
        cancel_runs: z.boolean().default(false).describe("Whether runs that have not ended are cancelled."),
      }),
      problems: ["in_use", "runs_open"],
      success: { 204: { description: "It is gone." } },
      async handler({ params: { project_id }, query, principal, audit }) {
        const { org_id: orgId } = principal;
        const audited = { audit, target: { type: "project", id: project_id }, view: presentProject };
        await deleteProject(control, { orgId, projectId: project_id, cancelRuns: query.cancel_runs, audited });
        flows.invalidate(principal.org_id, project_id);
        return { status: 204 };
      },
    }),
  ];
}
