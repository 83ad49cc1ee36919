import type { CreateOperations } from "../deps.ts";
import { createInferenceOperations } from "./inference.ts";
import { createStreamOperations } from "./stream.ts";
import { createFeedbackOperations } from "./feedback.ts";
import { createToolOperations } from "./tools.ts";
import { createRunOperations } from "./runs.ts";
import { createRunNodeOperations } from "./run-nodes.ts";
import { createRunControlOperations } from "./run-control.ts";
import { createRunJobOperations } from "./run-jobs.ts";
import { createPauseOperations } from "./pauses.ts";
import { createRunStatisticsOperations } from "./run-statistics.ts";

/** The operations of runs. */
export const runs: CreateOperations = [
  createInferenceOperations,
  createStreamOperations,
  createFeedbackOperations,
  createToolOperations,
  createRunOperations,
  createRunNodeOperations,
  createRunControlOperations,
  createRunJobOperations,
  createPauseOperations,
  createRunStatisticsOperations,
];
