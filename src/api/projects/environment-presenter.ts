import { z } from "zod";
import type { EnvironmentDifference } from "../../services/projects/compare-environment.ts";
import { REVIEW_STATES, type EnvironmentReview } from "../../stores/projects/environment-reviews.ts";
import type { Environment, Promotion } from "../../stores/projects/environments.ts";
import { asDeclared, givenId, named } from "../http/schemas.ts";

export const connectionsSchema = z
  .record(givenId, givenId)
  .refine((connections) => Object.keys(connections).length <= 100, "Must have at most 100 connections")
  .meta({
    description:
      "By ID of a connection that the flow names: ID of the connection, of the same provider, that runs of the environment use in its place. Nodes and tools of models use it alike.",
  });

const author = {
  name: z.string().nullable().describe("Email address of the user or name of the API key; `null` if deleted."),
};

export const promotionSchema = named("Promotion", {
  promotion_id: z.uuid(),
  project_id: z.uuid(),
  environment: z.string(),
  version: z.int(),
  connections: z.record(z.string(), z.uuid()),
  notes: z.string(),
  kind: z.enum(["promotion", "rollback"]),
  previous_version: z.int().nullable().describe("The version that it replaced."),
  repeats_id: z.uuid().nullable().describe("The promotion that a roll back repeats."),
  review_id: z.uuid().nullable().describe("The review that approved it."),
  promoted_by: z.uuid().describe("ID of the user or API key; for an approved review, of the one who approved it."),
  promoted_by_name: author.name,
  promoted_at: z.iso.datetime(),
});

export const environmentSchema = named("Environment", {
  name: z.string(),
  version: z.int().nullable().describe("The version that calls of the environment run; `null` until one is promoted."),
  connections: z.record(z.string(), z.uuid()).describe("The connections that replace those of the flow."),
  requires_review: z.boolean().describe("Whether a second person has to approve each promotion."),
  promotion: promotionSchema
    .nullable()
    .describe("How it got its version; `null` if none was promoted, or before promotions were recorded."),
});

const differencesSchema = named("EnvironmentDifferences", {
  added: z.array(z.string()),
  removed: z.array(z.string()),
  changed: z.array(z.string()),
});
const measuredSchema = named("EnvironmentMeasure", {
  experiment_id: z.uuid(),
  rows: z.int(),
  pass_rate: z.number().nullable().describe("Share of passes among the scores that should exist."),
  cost_usd: z.number(),
});

export const differenceSchema = named("EnvironmentDifference", {
  current_version: z.int().nullable().describe("The version that the environment has now."),
  version: z.int(),
  inputs: differencesSchema,
  outputs: differencesSchema,
  nodes: differencesSchema.describe("IDs of nodes at the top level; a node counts as changed with its incoming edges."),
  connections: z
    .array(z.object({ connection_id: z.uuid(), before: z.uuid().nullable(), after: z.uuid().nullable() }))
    .describe("Connections of the flow whose runs would use another one; `null` where the flow does not name it."),
  experiments: z
    .object({ dataset_id: z.uuid(), current: measuredSchema, version: measuredSchema })
    .nullable()
    .describe(
      "The newest completed experiments of both versions with the same dataset and evaluators; `null` if there are none.",
    ),
});

export const reviewSchema = named("EnvironmentReview", {
  review_id: z.uuid(),
  project_id: z.uuid(),
  environment: z.string(),
  version: z.int(),
  connections: z.record(z.string(), z.uuid()),
  notes: z.string(),
  digest: z.string().describe("SHA-256 in hexadecimal digits of the frozen version."),
  state: z.enum(REVIEW_STATES),
  proposed_by: z.uuid(),
  proposed_by_name: author.name,
  proposed_at: z.iso.datetime(),
  decided_by: z.uuid().nullable(),
  decided_by_name: author.name,
  decided_at: z.iso.datetime().nullable(),
  reason: z.string(),
});

export const reviewWithDifferenceSchema = named("EnvironmentReviewWithDifference", {
  ...reviewSchema.shape,
  difference: differenceSchema.describe("What an approval would change in the environment now."),
});

export const presentPromotion = (promotion: Promotion) => asDeclared(promotionSchema, promotion);

export const presentEnvironment = (environment: Environment) =>
  asDeclared(environmentSchema, { ...environment, connections: environment.promotion?.connections ?? {} });

export const presentReview = (review: EnvironmentReview) => asDeclared(reviewSchema, review);

export const presentDifference = (difference: EnvironmentDifference) => asDeclared(differenceSchema, difference);
