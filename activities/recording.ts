import type { Parts } from "../src/services/parts.ts";
import { createPlanCache, type PlanCache } from "../src/services/projects/plans.ts";
import { createRunRecorder, type RunRecorder, type RunRecorderDeps } from "../src/services/runs/run-recorder.ts";
import type { RunTraces } from "../src/services/runs/run-traces.ts";
import type { StartInputs } from "../src/services/runs/start-inputs.ts";

export interface RecordingDeps
  extends Parts<"config" | "db" | "blobs" | "feed">, Pick<RunRecorderDeps, "observer" | "traces"> {
  readonly startInputs: StartInputs;
}

/** The plan cache and the run recorder of a process; all of its activities share them. */
export interface Recording {
  readonly plans: PlanCache;
  readonly recorder: RunRecorder;
  readonly traces: RunTraces;
  readonly startInputs: StartInputs;
}

export function createRecording(deps: RecordingDeps): Recording {
  const { config, db, blobs, feed, observer, traces, startInputs } = deps;
  const plans = createPlanCache(db);
  const checkAfterMs = config.MILLRACE_STUCK_AFTER_MS;
  return {
    plans,
    traces,
    startInputs,
    recorder: createRunRecorder({ db, blobs, feed, plans, checkAfterMs, observer, traces }),
  };
}
