import { projectOperations } from "./projects.ts";
import { flowVersionOperations } from "./flow-versions.ts";
import { draftOperations } from "./drafts.ts";
import { environmentOperations } from "./environments.ts";
import { environmentReviewOperations } from "./environment-reviews.ts";
import { flowIoOperations } from "./flow-io.ts";
import { flowOperations, evaluationOperations } from "./flows.ts";

/** The operations of projects. */
export const projects = [
  ...projectOperations,
  ...flowVersionOperations,
  ...draftOperations,
  ...environmentOperations,
  ...environmentReviewOperations,
  ...flowIoOperations,
  ...flowOperations,
  ...evaluationOperations,
];
