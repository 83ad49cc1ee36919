import { z } from "zod";
import { required } from "../../domain/errors.ts";
import type { FlowLimits } from "../../domain/flow/definition/limits.ts";
import { compareWithEnvironment } from "../../services/projects/compare-environment.ts";
import { requireEnvironment } from "../../services/projects/promote.ts";
import { DECISIONS, decidePromotion, proposePromotion } from "../../services/projects/review-promotion.ts";
import type { Db } from "../../stores/db.ts";
import {
  REVIEW_STATES,
  findReview,
  listReviews,
  type EnvironmentReview,
} from "../../stores/projects/environment-reviews.ts";
import { findFlowVersion } from "../../stores/projects/flow-versions.ts";
import { findProject } from "../../stores/projects/projects.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, linkTo } from "../http/operation.ts";
import { namedStrict, pathId } from "../http/schemas.ts";
import {
  connectionsSchema,
  presentDifference,
  presentReview,
  reviewSchema,
  reviewWithDifferenceSchema,
} from "./environment-presenter.ts";
import { auditOf, environmentParams, promotionNotes, wantedVersion, define } from "./environments.ts";

const BASE = "/v2/projects/{project_id}/environments/{environment}/reviews";
const reviewParams = environmentParams.extend({ review_id: pathId("review") });

const proposeBody = namedStrict("EnvironmentReviewCreate", {
  version: wantedVersion,
  connections: connectionsSchema.optional().describe("As in a promotion; omit it to keep those of the environment."),
  notes: promotionNotes,
});
const decisionBody = namedStrict("EnvironmentReviewDecision", {
  decision: z.enum(DECISIONS).describe("`approve` promotes the version; `withdraw` is for the person who proposed it."),
  reason: z.string().max(10_000).default("").describe("Why, for the history."),
});

async function compared(connection: Db, review: EnvironmentReview, limits: FlowLimits) {
  const { project_id, environment: name, version: number, connections } = review;
  const project = required(await findProject(connection, project_id), "project");
  const environment = await requireEnvironment(connection, project, name);
  const version = required(await findFlowVersion(connection, project_id, number), "review");
  const wanted = { project_id, version, connections };
  const difference = await compareWithEnvironment(connection, environment, wanted, limits);
  return { ...presentReview(review), difference: presentDifference(difference) };
}

/** `/v2/projects/{project_id}/environments/{environment}/reviews`: promotions that a second person decides. */
export const environmentReviewOperations = [
  define({
    id: "proposePromotion",
    route: `POST ${BASE}`,
    summary: "Propose a promotion",
    description:
      "Freezes a version with its connections until a second person decides. An approval promotes exactly that; if the version is redrawn or deployed again meanwhile, it cannot be approved any more. Works for environments that need a review and for others.",
    params: environmentParams,
    body: proposeBody,
    idempotent: true,
    problems: ["environment_not_found", "flow_version_not_found", "conflict"],
    examples: { version: { version: 1, notes: "The warmer greeting" } },
    success: {
      201: created("The review, which waits for a decision.", reviewWithDifferenceSchema, {
        get: linkTo("getEnvironmentReview", ["project_id", "environment", "review_id"]),
        decide: linkTo("decideEnvironmentReview", ["project_id", "environment", "review_id"]),
      }),
    },
    async handler({ params: { project_id, environment }, body, principal, newId, audit }, { db, limits }) {
      const view = await db.orgTransaction(principal.org_id, async (connection) => {
        const wanted = { project_id, environment, ...body, promoter: principal };
        const review = await proposePromotion(connection, newId(), wanted);
        await audit(connection, { target: { type: "project", id: project_id }, after: presentReview(review) });
        return compared(connection, review, limits);
      });
      const Location = `/v2/projects/${project_id}/environments/${environment}/reviews/${view.review_id}`;
      return { status: 201, body: view, headers: { Location } };
    },
  }),
  define({
    id: "listEnvironmentReviews",
    route: `GET ${BASE}`,
    summary: "List the reviews of an environment",
    description: "Lists proposed promotions and their decisions, newest first.",
    params: environmentParams,
    query: listQuery.extend({ state: z.enum(REVIEW_STATES).optional() }),
    problems: ["environment_not_found"],
    success: { 200: { description: "A page of reviews.", schema: pageOf(reviewSchema) } },
    async handler({ params: { project_id, environment }, query, principal }, { db }) {
      const state = query.state ?? null;
      return db.org(principal.org_id, async (connection) => {
        await requireEnvironment(
          connection,
          required(await findProject(connection, project_id), "project"),
          environment,
        );
        return listPage("environment-reviews", principal.org_id, query, {
          filters: { project_id, environment, state },
          fetch: (keyset) => listReviews(connection, { project_id, environment, state }, keyset),
          idOf: ({ review_id }) => review_id,
          present: presentReview,
        });
      });
    },
  }),
  define({
    id: "getEnvironmentReview",
    route: `GET ${BASE}/{review_id}`,
    summary: "Get a review with its difference",
    description:
      "Returns a review with the difference to what the environment has now: inputs, outputs, nodes, connections, and cost and pass rate where experiments have both versions.",
    params: reviewParams,
    problems: ["environment_not_found"],
    success: { 200: { description: "The review.", schema: reviewWithDifferenceSchema } },
    async handler({ params: { project_id, environment, review_id }, principal }, { db, limits }) {
      const view = await db.org(principal.org_id, async (connection) => {
        const found = await findReview(connection, project_id, review_id);
        return compared(connection, required(found?.environment === environment ? found : null, "review"), limits);
      });
      return { status: 200, body: view };
    },
  }),
  define({
    id: "decideEnvironmentReview",
    route: `POST ${BASE}/{review_id}/decision`,
    summary: "Decide a review",
    description:
      "Approves, rejects or withdraws a proposed promotion. An approval promotes it in the same transaction. Neither the person who proposed it nor a key of theirs can approve or reject it.",
    params: reviewParams,
    body: decisionBody,
    idempotent: true,
    problems: ["environment_not_found", "flow_version_not_found", "conflict"],
    examples: { approve: { decision: "approve", reason: "Checked against the test set" } },
    success: { 200: { description: "The decided review.", schema: reviewSchema } },
    async handler({ params: { project_id, environment, review_id }, body, principal, audit }, { db, flows }) {
      const review = await db.orgTransaction(principal.org_id, async (connection) => {
        const asked = { project_id, environment, review_id };
        const decided = await decidePromotion(connection, asked, { ...body, decider: principal });
        const { state, reason } = decided.review;
        const promoted = decided.promoted && auditOf(project_id, decided.promoted);
        await audit(connection, {
          target: { type: "project", id: project_id },
          before: { ...promoted?.before, review: "open" },
          after: { ...promoted?.after, environment, review_id, review: state, reason },
        });
        return decided.review;
      });
      flows.invalidate(principal.org_id, project_id);
      return { status: 200, body: presentReview(review) };
    },
  }),
];
