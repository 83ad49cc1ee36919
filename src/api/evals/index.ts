import type { CreateOperations } from "../deps.ts";
import { createDatasetOperations } from "./datasets.ts";
import { createDatasetRowOperations } from "./dataset-rows.ts";
import { createImportOperations } from "./imports.ts";
import { createEvaluatorOperations } from "./evaluators.ts";
import { createEvaluatorPreviewOperations } from "./evaluator-previews.ts";
import { createExperimentOperations } from "./experiments.ts";
import { createExperimentResultOperations } from "./experiment-results.ts";
import { createExperimentJobOperations } from "./experiment-jobs.ts";
import { createMonitorOperations } from "./monitors.ts";
import { createMonitorResultOperations } from "./monitor-results.ts";
import { createMonitorAlertOperations } from "./monitor-alerts.ts";
import { createScoreOperations } from "./scores.ts";
import { createScoringOperations } from "./scorings.ts";

/** The operations of evals. */
export const evals: CreateOperations = [
  createDatasetOperations,
  createDatasetRowOperations,
  createImportOperations,
  createEvaluatorOperations,
  createEvaluatorPreviewOperations,
  createExperimentOperations,
  createExperimentResultOperations,
  createExperimentJobOperations,
  createMonitorOperations,
  createMonitorResultOperations,
  createMonitorAlertOperations,
  createScoreOperations,
  createScoringOperations,
];
