import { runLimits } from "../../services/runs/create-run.ts";
import type { StartRunDeps } from "../../services/triggers/start-run.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";

/** The dependencies with which triggers start runs. */
export function startingRuns(deps: ApiDeps, { flows }: ApiServices): StartRunDeps {
  const { config, db, blobs, startInputs, runs, evaluation, logger } = deps;
  return {
    db,
    blobs,
    startInputs,
    flows,
    evaluation,
    starter: runs,
    limits: runLimits(config, db),
    maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
    onStartDelayed: (run_id, err) => logger.warn({ err, run_id }, "could not start the run; the sweeper will retry"),
  };
}
