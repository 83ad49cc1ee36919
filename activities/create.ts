import type { ActivityDeps } from "./deps.ts";
import { createLocalDocumentActivities } from "./documents/index.ts";
import { reporting } from "./jobs.ts";
import type { LocalActivities } from "./local-activities.ts";
import { shareOutLocal } from "./local-shares.ts";
import { observeFailures } from "./observe-failures.ts";
import { createLocalRunActivities } from "./runs/index.ts";
import { createRecordSink } from "./runs/record-sink.ts";
import { createLocalTriggerActivities } from "./triggers/index.ts";
import { wrapEach } from "./wrap-each.ts";

/** The activities and sinks that a worker of run workflows registers. */
export interface RunWorkerParts {
  readonly activities: LocalActivities;
  readonly sinks: ReturnType<typeof createRecordSink>;
}

/** The activities of every process that runs workflows of runs. */
export function createRunWorkerParts(deps: ActivityDeps): RunWorkerParts {
  const activities: LocalActivities = {
    ...createLocalRunActivities(deps),
    ...createLocalDocumentActivities(deps),
    ...createLocalTriggerActivities(deps),
  };
  return {
    activities: shareOutLocal(observeFailures(wrapEach(activities, reporting), deps.onFailure)),
    sinks: createRecordSink(deps.recorder, deps.onFault),
  };
}
