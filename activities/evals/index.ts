import { Context } from "@temporalio/activity";
import { endExperiment, failExperiment } from "../../src/services/evals/end-experiment.ts";
import { exportExperiment } from "../../src/services/evals/export-experiment.ts";
import { failImport, importRows, type ImportDeps } from "../../src/services/evals/import-rows.ts";
import {
  beginExperiment,
  nextRows,
  scoreExperiment,
  scoreRows,
  type RunExperimentDeps,
} from "../../src/services/evals/run-experiment.ts";
import { checkAlert, scoreTaken } from "../../src/services/evals/watch-monitor.ts";
import { noteMonitorError } from "../../src/stores/evals/monitors.ts";
import type { ActivityDeps } from "../deps.ts";
import type { JobEnds } from "../faults.ts";
import { jobs } from "../jobs.ts";
import type { EvalActivities } from "./types.ts";

export function createEvalActivities(
  deps: ImportDeps & RunExperimentDeps & Pick<ActivityDeps, "onFailure">,
): EvalActivities {
  const signal = (): AbortSignal => Context.current().cancellationSignal;
  const activities: EvalActivities = {
    importRows: (input) => importRows(deps, input, signal()),
    beginExperiment: (input) => beginExperiment(deps, input),
    nextRows: (input) => nextRows(deps, input),
    scoreRows: (input) => scoreRows(deps, input, signal()),
    scoreExperiment: (input) => scoreExperiment(deps, input, signal()),
    exportExperiment: (input) => exportExperiment(deps, input),
    scoreTaken: (input) => scoreTaken(deps, input, signal()),
    checkAlert: (input) => checkAlert(deps, input),
    endExperiment: (input) => endExperiment(deps, input),
  };
  const noteFault: JobEnds<EvalActivities>["checkAlert"] = ({ org_id, monitor_id }, { message }) =>
    deps.db.org(org_id, (connection) => noteMonitorError(connection, monitor_id, message));
  return jobs(activities, deps, {
    importRows: (input, error) => failImport(deps, input, error),
    // The workflow continues with endExperiment, which records why the job failed.
    beginExperiment: null,
    nextRows: null,
    scoreRows: null,
    scoreExperiment: null,
    exportExperiment: null,
    endExperiment: (input, error) => failExperiment(deps, input, error),
    // A run that cannot be scored counts as an error; the next scheduled scoring continues.
    scoreTaken: noteFault,
    checkAlert: noteFault,
  });
}
