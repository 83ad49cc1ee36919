import { Context } from "@temporalio/activity";
import { createFlowCache } from "../../src/services/projects/flow-cache.ts";
import { runLimits } from "../../src/services/runs/create-run.ts";
import { pollTrigger, type PollDeps } from "../../src/services/triggers/poll.ts";
import { createScheduledRuns } from "../../src/services/triggers/schedule-run.ts";
import { noteTriggerError } from "../../src/stores/triggers/triggers.ts";
import type { ActivityDeps } from "../deps.ts";
import { jobs } from "../jobs.ts";
import type { LocalTriggerActivities, TriggerActivities } from "./types.ts";

/** The short activities of triggers. */
export function createLocalTriggerActivities(deps: ActivityDeps): LocalTriggerActivities {
  const { config, db, plans } = deps;
  return {
    createScheduledRun: createScheduledRuns({
      ...deps,
      flows: createFlowCache(db, plans),
      limits: runLimits(config, db),
      maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
    }),
  };
}

export function createTriggerActivities(deps: PollDeps & Pick<ActivityDeps, "onFailure">): TriggerActivities {
  const activities: TriggerActivities = {
    pollTrigger: ({ org_id, id }) => pollTrigger(deps, org_id, id, Context.current().cancellationSignal),
  };
  return jobs(activities, deps, {
    pollTrigger: ({ org_id, id }, { message }) =>
      deps.db.org(org_id, (connection) => noteTriggerError(connection, id, message)),
  });
}
