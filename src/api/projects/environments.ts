import { z } from "zod";
import { Problem, invalid, required } from "../../domain/errors.ts";
import { PRODUCTION } from "../../domain/projects/environments.ts";
import {
  checkedPromotion,
  promote,
  requireEnvironment,
  rollBack,
  type Promoted,
} from "../../services/projects/promote.ts";
import { compareWithEnvironment } from "../../services/projects/compare-environment.ts";
import { refuseWhileUsed } from "../../services/projects/flow-references.ts";
import type { Db } from "../../stores/db.ts";
import {
  deleteEnvironment,
  keepEnvironments,
  listEnvironments,
  listPromotions,
  renameEnvironment,
  setReviewRequired,
  usersOfEnvironment,
} from "../../stores/projects/environments.ts";
import { findProject, lockProject } from "../../stores/projects/projects.ts";
import { ETAG, ifMatchHeaders, requireMatch, revisionTag, tagged } from "../http/etag.ts";
import { environmentName } from "../http/run-request.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf, linkTo } from "../http/operation.ts";
import { givenId, named, namedStrict, pathId } from "../http/schemas.ts";
import {
  connectionsSchema,
  differenceSchema,
  environmentSchema,
  presentDifference,
  presentEnvironment,
  presentPromotion,
  promotionSchema,
} from "./environment-presenter.ts";

const BASE = "/v2/projects/{project_id}/environments";

const projectParams = z.object({ project_id: pathId("project") });
export const environmentParams = projectParams.extend({ environment: environmentName });

export const wantedVersion = z.int().min(1).max(2_147_483_647).describe("The version to promote.");
export const promotionNotes = z.string().max(10_000).default("").describe("Why, for the history.");

const promoteBody = namedStrict("EnvironmentPromote", {
  version: wantedVersion,
  connections: connectionsSchema.optional().describe("All replaced connections. Omit it to keep the current ones."),
  notes: promotionNotes,
});
const rollBackBody = namedStrict("EnvironmentRollBack", {
  promotion_id: givenId
    .optional()
    .describe("The promotion to repeat. Default: the newest one that differs from the current one."),
  notes: promotionNotes,
});
const changeBody = namedStrict("EnvironmentChange", {
  name: environmentName.optional(),
  requires_review: z.boolean().optional(),
});

const CHANGES = ["environment_not_found", "flow_version_not_found", "conflict", "review_required"] as const;

async function find(connection: Db, projectId: string, name: string) {
  return requireEnvironment(connection, required(await findProject(connection, projectId), "project"), name);
}

/** An environment of a locked project, stored. */
async function hold(connection: Db, projectId: string, name: string) {
  const project = required(await lockProject(connection, projectId), "project");
  await keepEnvironments(connection, project);
  return requireEnvironment(connection, project, name);
}

export const define = operationsOf({ tag: "Environments", auth: "secret" });

/** `/v2/projects/{project_id}/environments`: which version runs where. */
export const environmentOperations = [
  define({
    id: "listEnvironments",
    route: `GET ${BASE}`,
    summary: "List a project's environments",
    description:
      "Lists the environments of a project, at most 20, each with its version and connections. `development`, `staging` and `production` exist in every project. The version of `production` is the published one.",
    params: projectParams,
    success: {
      200: {
        description: "The environments.",
        schema: named("EnvironmentList", { data: z.array(environmentSchema) }),
      },
    },
    async handler({ params: { project_id }, principal }, { db }) {
      const found = await db.org(principal.org_id, async (connection) =>
        listEnvironments(connection, required(await findProject(connection, project_id), "project")),
      );
      return { status: 200, body: { data: found.map(presentEnvironment) } };
    },
  }),
  define({
    id: "getEnvironment",
    route: `GET ${BASE}/{environment}`,
    summary: "Get an environment",
    description: "Returns an environment with its version, its connections and the promotion that it got them from.",
    params: environmentParams,
    problems: ["environment_not_found"],
    success: { 200: { description: "The environment.", schema: environmentSchema, headers: ETAG } },
    async handler({ params: { project_id, environment }, principal }, { db }) {
      const found = await db.org(principal.org_id, (connection) => find(connection, project_id, environment));
      return tagged(presentEnvironment(found), revisionTag(found.revision));
    },
  }),
  define({
    id: "promoteVersion",
    route: `PUT ${BASE}/{environment}`,
    summary: "Promote a version to an environment",
    description:
      "Gives an environment a version and the connections that its runs use. New calls use both within a second, and never a mixture; runs in progress keep theirs. An environment that the project does not have is created. Choosing connections needs a credential that can read the organisation's connections. Returns 409 `review_required` if a second person has to approve it: propose it with `POST .../reviews`. Rolls forward or back; promoting what the environment has changes nothing.",
    params: environmentParams,
    headers: ifMatchHeaders,
    body: promoteBody,
    problems: [...CHANGES, "precondition_failed"],
    examples: {
      version: { version: 1, notes: "The warmer greeting" },
      connections: {
        version: 1,
        connections: { "0197f0a0-0000-7000-8000-000000000001": "0197f0a0-0000-7000-8000-000000000002" },
      },
    },
    success: {
      200: { description: "The environment.", schema: environmentSchema, headers: ETAG },
      201: {
        description: "The environment, which the request created.",
        schema: environmentSchema,
        headers: { ...ETAG, Location: "URL of the created resource." },
        links: { get: linkTo("listPromotions", [], ["project_id"]) },
      },
    },
    async handler({ params: { project_id, environment }, headers, body, principal, audit }, { db, flows }) {
      const { found, created } = await db.orgTransaction(principal.org_id, async (connection) => {
        const wanted = { project_id, environment, ...body, promoter: principal };
        const promoted = await promote(connection, wanted, { creates: true });
        requireMatch(headers["if-match"], revisionTag(promoted.before.revision));
        await audit(connection, auditOf(project_id, promoted));
        return { found: await find(connection, project_id, environment), created: promoted.created };
      });
      flows.invalidate(principal.org_id, project_id);
      const { body: view, headers: etag } = tagged(presentEnvironment(found), revisionTag(found.revision));
      if (!created) return { status: 200, body: view, headers: etag };
      const Location = `/v2/projects/${project_id}/environments/${environment}`;
      return { status: 201, body: view, headers: { ...etag, Location } };
    },
  }),
  define({
    id: "rollBackEnvironment",
    route: `POST ${BASE}/{environment}/rollback`,
    summary: "Roll an environment back",
    description:
      "Gives an environment again the version and connections of an earlier promotion to it. What has already run in the environment needs no second review.",
    params: environmentParams,
    body: rollBackBody,
    idempotent: true,
    problems: [...CHANGES],
    examples: { previous: { notes: "Answers were too long" } },
    success: { 200: { description: "The environment.", schema: environmentSchema, headers: ETAG } },
    async handler({ params: { project_id, environment }, body, principal, audit }, { db, flows }) {
      const found = await db.orgTransaction(principal.org_id, async (connection) => {
        const promoted = await rollBack(connection, { project_id, environment, ...body, promoter: principal });
        await audit(connection, auditOf(project_id, promoted));
        return find(connection, project_id, environment);
      });
      flows.invalidate(principal.org_id, project_id);
      return tagged(presentEnvironment(found), revisionTag(found.revision));
    },
  }),
  define({
    id: "changeEnvironment",
    route: `PATCH ${BASE}/{environment}`,
    role: "admin",
    summary: "Change an environment",
    description:
      "Changes the name of an environment, or whether a second person has to approve each promotion to it. Triggers, monitors and published pages follow a new name; finished and unfinished runs keep the old one. `production` cannot be renamed, nor can an environment that other flows name.",
    params: environmentParams,
    headers: ifMatchHeaders,
    body: changeBody,
    problems: ["environment_not_found", "conflict", "in_use", "precondition_failed"],
    examples: { review: { requires_review: true }, rename: { name: "acceptance" } },
    success: { 200: { description: "The environment.", schema: environmentSchema, headers: ETAG } },
    async handler({ params: { project_id, environment }, headers, body, principal, audit }, { db, flows }) {
      const { name = environment, requires_review } = body;
      const found = await db.orgTransaction(principal.org_id, async (connection) => {
        const before = await hold(connection, project_id, environment);
        requireMatch(headers["if-match"], revisionTag(before.revision));
        if (requires_review !== undefined && requires_review !== before.requires_review)
          await setReviewRequired(connection, project_id, environment, requires_review);
        if (name !== environment) {
          if (environment === PRODUCTION) throw invalid(["body", "name"], "production cannot be renamed");
          await requireFree(connection, project_id, name);
          await renameEnvironment(connection, project_id, environment, name);
          // After the change, which waits for flows that are being published.
          await refuseWhileUsed(connection, "environment", `${project_id}/${environment}`);
        }
        const after = await find(connection, project_id, name);
        await audit(connection, {
          target: { type: "project", id: project_id },
          before: { environment: before.name, requires_review: before.requires_review },
          after: { environment: after.name, requires_review: after.requires_review },
        });
        return after;
      });
      flows.invalidate(principal.org_id, project_id);
      return tagged(presentEnvironment(found), revisionTag(found.revision));
    },
  }),
  define({
    id: "deleteEnvironment",
    route: `DELETE ${BASE}/{environment}`,
    role: "admin",
    summary: "Delete an environment",
    description:
      "Deletes an environment; its runs and its history stay. `production` cannot be deleted, nor can an environment that triggers, monitors or published pages belong to, or that other flows name.",
    params: environmentParams,
    problems: ["environment_not_found", "conflict", "in_use"],
    success: { 204: { description: "The environment no longer exists." } },
    async handler({ params: { project_id, environment }, principal, audit }, { db, flows }) {
      await db.orgTransaction(principal.org_id, async (connection) => {
        const before = await hold(connection, project_id, environment);
        if (environment === PRODUCTION) throw new Problem("conflict", "production cannot be deleted.");
        const used = await usersOfEnvironment(connection, project_id, environment);
        if (used.triggers + used.monitors + used.pages > 0) {
          const detail = `${used.triggers} triggers, ${used.monitors} monitors and ${used.pages} pages belong to this environment. Change or delete them first.`;
          throw new Problem("in_use", detail, { extra: { used_by: used } });
        }
        await deleteEnvironment(connection, project_id, environment);
        await refuseWhileUsed(connection, "environment", `${project_id}/${environment}`);
        await audit(connection, {
          target: { type: "project", id: project_id },
          before: { environment, version: before.version },
        });
      });
      flows.invalidate(principal.org_id, project_id);
    },
  }),
  define({
    id: "compareEnvironment",
    route: `GET ${BASE}/{environment}/difference`,
    summary: "Compare an environment with a version",
    description:
      "Returns what promoting a version would change in an environment: inputs, outputs, nodes and connections, and the cost and pass rate of experiments. Send replaced connections with the promotion or a review; here those of the environment count.",
    params: environmentParams,
    query: z.object({ version: wantedVersion }),
    problems: ["environment_not_found", "flow_version_not_found"],
    success: { 200: { description: "The difference.", schema: differenceSchema } },
    async handler({ params: { project_id, environment: name }, query, principal }, { db, limits }) {
      const difference = await db.org(principal.org_id, async (connection) => {
        const environment = await find(connection, project_id, name);
        const wanted = { project_id, environment: name, version: query.version, notes: "", promoter: principal };
        const checked = await checkedPromotion(connection, environment, wanted);
        return compareWithEnvironment(connection, environment, { project_id, ...checked }, limits);
      });
      return { status: 200, body: presentDifference(difference) };
    },
  }),
  define({
    id: "listPromotions",
    route: "GET /v2/projects/{project_id}/promotions",
    summary: "List a project's promotions",
    description:
      "Lists who promoted which version to which environment, when and why, newest first: of the project, an environment or a version.",
    params: projectParams,
    query: listQuery.extend({
      environment: environmentName.optional(),
      version: wantedVersion.optional().describe("Only promotions of this version."),
    }),
    success: { 200: { description: "A page of promotions.", schema: pageOf(promotionSchema) } },
    async handler({ params: { project_id }, query, principal }, { db }) {
      const { environment, version } = query;
      return db.org(principal.org_id, async (connection) => {
        required(await findProject(connection, project_id), "project");
        return listPage("promotions", principal.org_id, query, {
          filters: { project_id, environment, version },
          fetch: (keyset) => listPromotions(connection, project_id, { environment, version }, keyset),
          idOf: ({ promotion_id }) => promotion_id,
          present: presentPromotion,
        });
      });
    },
  }),
];

/** The audit entry of a promotion. */
export function auditOf(projectId: string, { before, promotion }: Promoted) {
  const { environment, version, connections, kind, notes, review_id } = promotion;
  return {
    target: { type: "project", id: projectId },
    before: { environment, version: before.version, connections: { ...before.promotion?.connections } },
    after: { environment, version, connections: { ...connections }, kind, notes, review_id },
  };
}

async function requireFree(connection: Db, projectId: string, name: string): Promise<void> {
  const project = required(await findProject(connection, projectId), "project");
  if ((await listEnvironments(connection, project)).some((each) => each.name === name))
    throw new Problem("conflict", `The project already has an environment "${name}".`);
}
