import { z } from "zod";
import { emailAddress } from "../../domain/accounts/accounts.ts";
import { PROJECT_ROLES, type Principal } from "../../domain/accounts/principal.ts";
import { Problem, notFound } from "../../domain/errors.ts";
import { holdProjectAdmin } from "../../services/accounts/hold-admin.ts";
import { requireProject } from "../../services/projects/projects.ts";
import {
  deleteProjectGrant,
  listProjectGrants,
  listUserGrants,
  lockProjectGrant,
  setProjectGrant,
  type ProjectGrant,
} from "../../stores/accounts/project-roles.ts";
import { findUser, findUsersByName, type NamedUser } from "../../stores/accounts/users.ts";
import type { Db } from "../../stores/db.ts";
import type { HandlerDeps } from "../deps.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";

export const memberSchema = named("ProjectMember", {
  project_id: z.uuid(),
  project_name: z.string(),
  user_id: z.uuid(),
  email: z.string(),
  role: z.enum(PROJECT_ROLES).describe("Role in this project. A higher role in the organisation applies here too."),
  created_at: z.iso.datetime(),
});
const memberPage = pageOf(memberSchema);

// The fields of a user that the list of project members shows, and no others.
const candidateSchema = named("ProjectMemberCandidate", {
  user_id: z.uuid(),
  email: z.string(),
  role: z.enum(PROJECT_ROLES).nullable().describe("Role in this project; `null` if the user has none."),
});
const candidatesSchema = named("ProjectMemberCandidates", {
  data: z.array(candidateSchema).describe("One user or none."),
});

const presentMember = (grant: ProjectGrant) => asDeclared(memberSchema, grant);
const presentCandidate = (user: NamedUser) => asDeclared(candidateSchema, { ...user, role: user.project_role });

const projectParams = z.object({ project_id: pathId("project") });
const userParams = z.object({ user_id: pathId("user") });
const memberParams = projectParams.extend(userParams.shape);
const body = namedStrict("ProjectMemberSet", {
  role: z.enum(PROJECT_ROLES).describe("Role in this project. An `admin` of a project can set its roles."),
});

/** Runs `work` with the role that the user has in the project, while the caller stays an admin there. */
async function change(
  { db, credentials }: HandlerDeps,
  principal: Principal,
  { project_id, user_id }: z.infer<typeof memberParams>,
  work: (connection: Db, found: ProjectGrant | null) => Promise<void>,
): Promise<void> {
  await requireProject(db, principal.org_id, project_id, "project");
  await db.orgTransaction(principal.org_id, async (connection) => {
    if (!(await holdProjectAdmin(connection, principal, project_id)))
      throw new Problem("forbidden", "This requires the role admin, which you no longer have.");
    await work(connection, await lockProjectGrant(connection, project_id, user_id));
  });
  credentials.forget(user_id);
}

const define = operationsOf({ tag: "Users", auth: "secret", role: "admin" });

/** `/v2/projects/{project_id}/members`: roles of users in one project. For admins of the organisation or of the project. */
export const projectMemberOperations = [
  define({
    query: listQuery,
    id: "listProjectMembers",
    route: "GET /v2/projects/{project_id}/members",
    summary: "List a project's members",
    description: "Lists the users with a role in the project. Roles in the organisation are not listed.",
    params: projectParams,
    success: { 200: { description: "A page of members.", schema: memberPage } },
    async handler({ params: { project_id }, query, principal: { org_id } }, { db }) {
      await requireProject(db, org_id, project_id, "project");
      return listPage("project-members", org_id, query, {
        filters: { project_id },
        fetch: (keyset) => db.org(org_id, (connection) => listProjectGrants(connection, project_id, keyset)),
        idOf: ({ user_id }) => user_id,
        present: presentMember,
      });
    },
  }),
  define({
    id: "findProjectMemberCandidate",
    route: "GET /v2/projects/{project_id}/member-candidates",
    summary: "Find a user to add to a project",
    description:
      "Finds a user by the full email address, ignoring case. Parts of an address find nothing: project admins cannot browse the organisation's users.",
    params: projectParams,
    query: z.object({ email: emailAddress.toLowerCase().describe("The full email address.") }),
    success: { 200: { description: "The user with this address, or an empty list.", schema: candidatesSchema } },
    async handler({ params: { project_id }, query: { email }, principal: { org_id } }, { db }) {
      await requireProject(db, org_id, project_id, "project");
      const users = await db.org(org_id, (connection) => findUsersByName(connection, [email], project_id));
      return { status: 200, body: { data: users.map(presentCandidate) } };
    },
  }),
  define({
    id: "setProjectMember",
    route: "PUT /v2/projects/{project_id}/members/{user_id}",
    summary: "Set a user's role in a project",
    description:
      "Sets the role, replacing the previous one. It applies from the next request. The organisation role is the minimum. To restrict a user to certain projects, give them the organisation role `member`.",
    params: memberParams,
    body,
    examples: { editor: { role: "editor" } },
    success: { 200: { description: "The user's project role.", schema: memberSchema } },
    async handler({ params, body: { role }, principal, audit }, deps) {
      const { project_id, user_id } = params;
      let set: ProjectGrant | null = null;
      await change(deps, principal, params, async (connection, found) => {
        if (!(await findUser(connection, user_id))) throw notFound("user");
        await setProjectGrant(connection, { project_id, user_id, org_id: principal.org_id, role });
        set = await lockProjectGrant(connection, project_id, user_id);
        if (set === null) throw notFound("project");
        await audit(connection, {
          target: { type: "project", id: project_id },
          ...(found && { before: { role: found.role } }),
          after: presentMember(set),
        });
      });
      if (set === null) throw notFound("project");
      return { status: 200, body: presentMember(set) };
    },
  }),
  define({
    id: "deleteProjectMember",
    route: "DELETE /v2/projects/{project_id}/members/{user_id}",
    summary: "Remove a user's project role",
    description:
      "Removes the role. From the next request the user has only the organisation role; a `member` no longer sees the project.",
    params: memberParams,
    success: { 204: { description: "Role removed." } },
    async handler({ params, principal, audit }, deps) {
      const { project_id, user_id } = params;
      await change(deps, principal, params, async (connection, found) => {
        if (found === null) throw notFound("project member");
        await deleteProjectGrant(connection, project_id, user_id);
        await audit(connection, { target: { type: "project", id: project_id }, before: presentMember(found) });
      });
    },
  }),
  define({
    query: listQuery,
    id: "listUserProjects",
    route: "GET /v2/users/{user_id}/projects",
    summary: "List a user's project roles",
    description: "Lists the user's roles by project. `getUser` returns the role in the organisation.",
    params: userParams,
    success: { 200: { description: "A page of roles.", schema: memberPage } },
    async handler({ params: { user_id }, query, principal: { org_id } }, { db }) {
      if (!(await db.org(org_id, (connection) => findUser(connection, user_id)))) throw notFound("user");
      return listPage("user-projects", org_id, query, {
        filters: { user_id },
        fetch: (keyset) => db.org(org_id, (connection) => listUserGrants(connection, user_id, keyset)),
        idOf: ({ project_id }) => project_id,
        present: presentMember,
      });
    },
  }),
];
