import type { Config } from "../../config.ts";
import { inferenceOperations, feedbackOperations } from "./inference.ts";
import { streamOperations } from "./stream.ts";
import { toolOperations } from "./tools.ts";
import { runOperations } from "./runs.ts";
import { runNodeOperations } from "./run-nodes.ts";
import { runControlOperations } from "./run-control.ts";
import { runJobOperations } from "./run-jobs.ts";
import { pauseOperations } from "./pauses.ts";
import { runStatisticsOperations } from "./run-statistics.ts";

/** The operations of runs. */
export const runs = (config: Config) => [
  ...inferenceOperations(config),
  ...streamOperations(config),
  ...feedbackOperations,
  ...toolOperations,
  ...runOperations(config),
  ...runNodeOperations,
  ...runControlOperations,
  ...runJobOperations,
  ...pauseOperations,
  ...runStatisticsOperations,
];
