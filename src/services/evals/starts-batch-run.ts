import type { JsonObject } from "../../domain/json.ts";
import type { Db } from "../../stores/db.ts";
import { activeJob } from "../../stores/evals/experiment-jobs.ts";

/** Whether the experiment named in a run's metadata has a job in progress, which will start the run. */
export async function startsBatchRun(db: Db, { experiment_id }: JsonObject): Promise<boolean> {
  return typeof experiment_id === "string" && (await activeJob(db, experiment_id)) !== null;
}
