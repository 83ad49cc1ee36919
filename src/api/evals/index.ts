import { datasetOperations } from "./datasets.ts";
import { datasetRowOperations } from "./dataset-rows.ts";
import { importOperations } from "./imports.ts";
import { evaluatorOperations } from "./evaluators.ts";
import { evaluatorPreviewOperations, scoringOperations } from "./scorings.ts";
import { experimentOperations } from "./experiments.ts";
import { experimentResultOperations } from "./experiment-results.ts";
import { experimentJobOperations } from "./experiment-jobs.ts";
import { monitorOperations } from "./monitors.ts";
import { monitorResultOperations } from "./monitor-results.ts";
import { monitorAlertOperations } from "./monitor-alerts.ts";
import { scoreOperations } from "./scores.ts";

/** The operations of evals. */
export const evals = [
  ...datasetOperations,
  ...datasetRowOperations,
  ...importOperations,
  ...evaluatorOperations,
  ...evaluatorPreviewOperations,
  ...experimentOperations,
  ...experimentResultOperations,
  ...experimentJobOperations,
  ...monitorOperations,
  ...monitorResultOperations,
  ...monitorAlertOperations,
  ...scoreOperations,
  ...scoringOperations,
];
