import { Context } from "@temporalio/activity";
import { holdingAnswers } from "../../src/platform/fetch/held-answers.ts";
import { asCallOf } from "../../src/platform/fetch/own-calls.ts";
import { checkConnection, noteCheckFault, type CheckDeps } from "../../src/services/providers/check-connection.ts";
import { dropNewConnection, importTools, type ImportToolsDeps } from "../../src/services/providers/import-tools.ts";
import type { ActivityDeps } from "../deps.ts";
import { jobs } from "../jobs.ts";
import { createRunAction, failActionRun, type RunActionDeps } from "./run-action.ts";
import type { ProviderActivities } from "./types.ts";

/** The activities of connections and of action runs. */
export function createProviderActivities(
  deps: CheckDeps & RunActionDeps & ImportToolsDeps & Pick<ActivityDeps, "onFailure">,
): ProviderActivities {
  const runAction = createRunAction(deps);
  const activities: ProviderActivities = {
    checkConnection: ({ org_id, connection_id }) => checkConnection(deps, org_id, connection_id),
    runAction(input) {
      const caller = { org_id: input.org_id, run_id: input.action_run_id };
      return holdingAnswers(input.org_id, () => asCallOf(caller, () => runAction(input)));
    },
    importTools: (input) => importTools(deps, input, Context.current().cancellationSignal),
  };
  return jobs(activities, deps, {
    checkConnection: ({ org_id, connection_id }, error) =>
      noteCheckFault(deps.db, org_id, connection_id, error.message),
    runAction: ({ org_id, action_run_id }, error) => failActionRun(deps.db, org_id, action_run_id, error),
    // The waiting caller gets the error; a connection created only for this import is deleted.
    importTools: (input) => dropNewConnection(deps.db, input),
  });
}
