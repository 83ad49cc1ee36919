import type { CreateOperations } from "../deps.ts";
import { createProjectOperations } from "./projects.ts";
import { createFlowVersionOperations } from "./flow-versions.ts";
import { createDraftOperations } from "./drafts.ts";
import { createEnvironmentOperations } from "./environments.ts";
import { createEnvironmentReviewOperations } from "./environment-reviews.ts";
import { createFlowIoOperations } from "./flow-io.ts";
import { createFlowOperations } from "./flows.ts";
import { createEvaluationOperations } from "./evaluations.ts";

/** The operations of projects. */
export const projects: CreateOperations = [
  createProjectOperations,
  createFlowVersionOperations,
  createDraftOperations,
  createEnvironmentOperations,
  createEnvironmentReviewOperations,
  createFlowIoOperations,
  createFlowOperations,
  createEvaluationOperations,
];
