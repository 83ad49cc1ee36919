import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem, conflict, required } from "../../domain/errors.ts";
import type { Db } from "../../stores/db.ts";
import {
  decideReview,
  digestOfVersion,
  findReview,
  insertReview,
  personBehind,
  type EnvironmentReview,
} from "../../stores/projects/environment-reviews.ts";
import { keepEnvironments } from "../../stores/projects/environments.ts";
import { lockProject } from "../../stores/projects/projects.ts";
import { checkedPromotion, promote, requireEnvironment, type Promoted, type WantedPromotion } from "./promote.ts";

/** Freezes a version with its connections for the decision of a second person. Throws as `promote`, and 409 if it is already proposed. */
export async function proposePromotion(db: Db, reviewId: string, wanted: WantedPromotion): Promise<EnvironmentReview> {
  const { project_id, environment: name, notes, promoter } = wanted;
  const project = required(await lockProject(db, project_id), "project");
  await keepEnvironments(db, project);
  const environment = await requireEnvironment(db, project, name);
  const { version, connections } = await checkedPromotion(db, environment, wanted);
  const known = await findReview(db, project_id, reviewId);
  if (known) return known;
  const added = await insertReview(db, {
    review_id: reviewId,
    org_id: promoter.org_id,
    project_id,
    environment: name,
    version: version.version,
    connections,
    notes,
    digest: required(await digestOfVersion(db, project_id, version.version), "version"),
    proposed_by_type: promoter.type,
    proposed_by: promoter.id,
    proposer: await personBehind(db, promoter),
  });
  if (!added) throw conflict("There is an open review of this version with these connections.");
  return required(await findReview(db, project_id, reviewId), "review");
}

export const DECISIONS = ["approve", "reject", "withdraw"] as const;
export type Decision = (typeof DECISIONS)[number];

const STATE_OF = { approve: "approved", reject: "rejected", withdraw: "withdrawn" } as const;

/**
 * Decides a review; an approval promotes exactly what was frozen. Throws 403 if the proposer, or a key of theirs, approves or rejects, or
 * if another person withdraws, and 409 if the review is decided, or the version was redrawn or deployed again since.
 */
export async function decidePromotion(
  db: Db,
  review: Pick<EnvironmentReview, "project_id" | "review_id" | "environment">,
  { decision, reason, decider }: { readonly decision: Decision; readonly reason: string; readonly decider: Principal },
): Promise<{ readonly review: EnvironmentReview; readonly promoted: Promoted | null }> {
  const { project_id, review_id } = review;
  required(await lockProject(db, project_id), "project");
  const open = required(await findReview(db, project_id, review_id), "review");
  if (open.environment !== review.environment) required(null, "review");
  if (open.state !== "open") throw conflict(`The review was ${open.state} before.`);
  const isProposer = (await personBehind(db, decider)) === open.proposer;
  if (decision === "withdraw" && !isProposer)
    throw new Problem("forbidden", "Only the person who proposed the version can withdraw it.");
  if (decision !== "withdraw" && isProposer)
    throw new Problem("forbidden", "A second person has to decide: you, or a key of yours, proposed this version.");
  if (decision === "approve" && (await digestOfVersion(db, project_id, open.version)) !== open.digest) {
    const detail = `Version ${open.version} was redrawn or deployed again after the review began. Withdraw the review and propose it again.`;
    throw conflict(detail);
  }
  await decideReview(db, { review_id, state: STATE_OF[decision], decider, reason });
  const { environment, version, connections, notes } = open;
  const wanted = { project_id, environment, version, connections, notes, promoter: decider };
  const promoted = decision === "approve" ? await promote(db, wanted, { review_id }) : null;
  return { review: required(await findReview(db, project_id, review_id), "review"), promoted };
}
