import { z } from "zod";
import { isWithin } from "../../domain/accounts/kept-rights.ts";
import { visibleProjects } from "../../domain/accounts/principal.ts";
import { notFound, required } from "../../domain/errors.ts";
import {
  findProject,
  insertProject,
  listProjects,
  lockProject,
  updateProject,
  type Project,
} from "../../stores/projects/projects.ts";
import { projectActivity, type Period, type ProjectActivity } from "../../stores/projects/project-activity.ts";
import { changeLocked } from "../../services/change.ts";
import { deleteProject } from "../../services/projects/delete-project.ts";
import { deployFlow, requireValidFlow } from "../../services/projects/deploy-flow.ts";
import { listUsers } from "../../services/projects/flow-references.ts";
import { RUN_STATES, RUN_TYPES } from "../../domain/runs/run.ts";
import { timestampAt } from "../../domain/timestamps.ts";
import { firstIdOf, timeOf } from "../../domain/uuid.ts";
import { ETAG, asCreated, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linkTo } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";
import { flowSchema, EXAMPLE_FLOW } from "./flow-schemas.ts";

const projectSchema = named("Project", {
  project_id: z.uuid().describe("ID of the project and of its flow."),
  name: z.string(),
  description: z.string(),
  published_version: z.int().nullable().describe("The version that -1 means; `null` if no version is published."),
  latest_version: z.int().describe("Number of the latest version; 0 if there is none."),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

const DAYS = 14;
const DAY_MS = 86_400_000;
/** The clock of another process may be ahead, and its runs belong to the last day. */
const AHEAD_MS = 60_000;

const author = z.string().nullable().describe("Email address of the user or name of the API key; `null` if unknown.");

const activitySchema = named("ProjectActivity", {
  created_by: z.uuid().nullable().describe("ID of the user or API key that created the project; `null` if unknown."),
  created_by_name: author,
  draft: z
    .object({
      revision: z.int(),
      changed_at: z.iso.datetime(),
      changed_by: z.uuid().describe("ID of the user or API key."),
      changed_by_name: author,
    })
    .nullable()
    .describe("The draft, which has changes that are not deployed; `null` if there is none."),
  last_run: z
    .object({
      run_id: z.uuid(),
      state: z.enum(RUN_STATES),
      run_type: z.enum(RUN_TYPES),
      created_at: z.iso.datetime(),
      finished_at: z.iso.datetime().nullable(),
    })
    .nullable(),
  days: z
    .array(z.object({ start: z.iso.datetime(), runs: z.int().min(0), failed: z.int().min(0) }))
    .describe(
      `The last ${DAYS} periods of 24 hours, oldest first, with the runs created in each, drafts and child runs included.`,
    ),
});

const listedProjectSchema = named("ListedProject", {
  ...projectSchema.shape,
  activity: activitySchema.optional().describe("Only with `expand=activity`."),
});

/** The periods of 24 hours up to a time, oldest first. */
function lastDays(now: number): Period[] {
  return Array.from({ length: DAYS }, (_, at) => {
    const start = now - (DAYS - at) * DAY_MS;
    const end = at === DAYS - 1 ? now + AHEAD_MS : start + DAY_MS;
    return { first: firstIdOf(start), next: firstIdOf(end) };
  });
}

function presentActivity(activity: ProjectActivity, days: readonly Period[]) {
  return asDeclared(activitySchema, {
    ...activity,
    days: days.map(({ first }, at) => ({
      start: timestampAt(timeOf(first)),
      runs: activity.runs[at] ?? 0,
      failed: activity.failed[at] ?? 0,
    })),
  });
}

const projectWithUsersSchema = named("ProjectWithUsers", {
  ...projectSchema.shape,
  used_by: z
    .array(z.object({ project_id: z.uuid(), name: z.string() }))
    .optional()
    .describe(
      "Only with `expand=used_by`: the first 100 projects whose published flow calls this one, of the ones that the caller can see.",
    ),
});

export const presentProject = (project: Project) => asDeclared(projectSchema, project);

const params = z.object({ project_id: pathId("project") });
const name = z.string().trim().min(1).max(200);
const description = z.string().max(10_000);

const createBody = namedStrict("ProjectCreate", {
  name,
  description: description.default(""),
  flow: flowSchema.optional().describe("Flow to deploy as version 1."),
  publish: z.boolean().default(true).describe("Whether to publish that version."),
});
const changeBody = namedStrict("ProjectChange", { name: name.optional(), description: description.optional() });

const LINKS = {
  get: linkTo("getProject", ["project_id"]),
  versions: linkTo("createFlowVersion", ["project_id"]),
};

const toResponse = (project: Project) => tagged(presentProject(project), revisionTag(project.revision));

const define = operationsOf({ tag: "Projects", auth: "secret" });

/** `/v2/projects`. */
export const projectOperations = [
  define({
    id: "createProject",
    route: "POST /v2/projects",
    summary: "Create a project",
    description:
      "Creates a project, which holds a flow and its versions. If you send `flow`, it is deployed as version 1, and published unless `publish` is false. Returns the project.",
    body: createBody,
    wideBody: true,
    idempotent: true,
    examples: { flow: { name: "Greeter", flow: EXAMPLE_FLOW }, empty: { name: "Greeter" } },
    success: { 201: created("The project.", projectSchema, LINKS, ETAG) },
    async handler({ body, principal, newId, audit }, { evaluation, limits, db }) {
      const { org_id } = principal;
      const flow = body.flow && (await requireValidFlow(evaluation, org_id, body.flow, limits));
      const project_id = newId();
      const project = await db.orgTransaction(org_id, async (connection) => {
        const created = await insertProject(connection, {
          project_id,
          org_id,
          name: body.name,
          description: body.description,
          created_by: principal.id,
        });
        if (created && flow) {
          const deployment = {
            projectId: project_id,
            flow,
            notes: "",
            publish: body.publish,
            deployer: principal,
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
  define({
    id: "listProjects",
    route: "GET /v2/projects",
    summary: "List projects",
    description:
      "Lists projects, newest first, without their flows. Members see only the projects they have a role in. With `expand=activity`, each project has its draft, its last run and its runs a day.",
    query: listQuery.extend({
      expand: z.enum(["activity"]).optional().describe("`activity` adds what happens in each project."),
    }),
    success: { 200: { description: "A page of projects.", schema: pageOf(listedProjectSchema, "ProjectPage") } },
    async handler({ query, principal }, { reads }) {
      const { org_id } = principal;
      const days = query.expand === "activity" ? lastDays(Date.now()) : null;
      return listPage("projects", org_id, query, {
        fetch: (keyset) =>
          reads.org(org_id, async (connection) => {
            const projects = await listProjects(connection, keyset, visibleProjects(principal));
            if (days === null) return projects.map((project) => ({ project, activity: undefined }));
            const ids = projects.map(({ project_id }) => project_id);
            const found = await projectActivity(connection, org_id, ids, days);
            const byId = new Map(found.map((each) => [each.project_id, each]));
            return projects.map((project) => ({ project, activity: byId.get(project.project_id) }));
          }),
        idOf: ({ project }) => project.project_id,
        present: ({ project, activity }) => ({
          ...presentProject(project),
          ...(activity && days && { activity: presentActivity(activity, days) }),
        }),
      });
    },
  }),
  define({
    id: "getProject",
    route: "GET /v2/projects/{project_id}",
    summary: "Get a project",
    description:
      "Returns a project with the numbers of its published and its latest version. With `expand=used_by`, also the projects whose published flow calls it.",
    params,
    query: z.object({
      expand: z
        .enum(["used_by"])
        .optional()
        .describe("`used_by` adds the projects whose published flow calls this one."),
    }),
    success: { 200: { description: "The project.", schema: projectWithUsersSchema, headers: ETAG } },
    async handler({ params: { project_id }, query, principal }, { db }) {
      const [project, users] = await db.org(principal.org_id, async (connection) => [
        await findProject(connection, project_id),
        query.expand === "used_by" ? await listUsers(connection, "project", project_id) : null,
      ]);
      if (!project) throw notFound("project");
      const { body, ...response } = toResponse(project);
      const visible = visibleProjects(principal);
      const used_by = users?.filter((user) => isWithin(visible, user.project_id));
      return { ...response, body: { ...body, ...(used_by && { used_by }) } };
    },
  }),
  define({
    id: "changeProject",
    route: "PATCH /v2/projects/{project_id}",
    summary: "Change a project",
    description:
      "Changes a project's name or description. Omitted fields keep their values. To change the flow, deploy a new version.",
    params,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: { rename: { name: "Greeter of guests" } },
    success: { 200: { description: "The updated project.", schema: projectSchema, headers: ETAG } },
    async handler({ params: { project_id }, headers, body, principal, audit }, { db, flows }) {
      const project = await changeLocked(db, principal.org_id, {
        async lock(connection) {
          return required(await lockProject(connection, project_id), "project");
        },
        requireMatch: matchesRevision(headers),
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
  define({
    id: "deleteProject",
    route: "DELETE /v2/projects/{project_id}",
    summary: "Delete a project",
    description:
      "Deletes a project with all its versions, triggers and monitors. Returns 409 `in_use` if another project's published flow calls it; `used_by` lists up to 100 callers. Returns 409 `runs_open` if the project has unfinished runs, unless you send `cancel_runs=true`.",
    params,
    query: z.object({
      cancel_runs: z
        .boolean()
        .default(false)
        .describe("`true` cancels the project's unfinished runs; `false` refuses the deletion while there are any."),
    }),
    problems: ["in_use", "runs_open"],
    success: { 204: { description: "Deleted." } },
    async handler({ params: { project_id }, query, principal, audit }, deps) {
      const { org_id: orgId } = principal;
      const audited = { audit, target: { type: "project", id: project_id }, view: presentProject };
      await deleteProject(deps, { orgId, projectId: project_id, cancelRuns: query.cancel_runs, audited });
      deps.flows.invalidate(principal.org_id, project_id);
    },
  }),
];
