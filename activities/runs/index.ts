import { Context } from "@temporalio/activity";
import { loadValue, storeValue as storeBlobValue } from "../../src/platform/blobs/blobs.ts";
import { runLimits } from "../../src/services/runs/create-run.ts";
import { cancelledEnd, settleRun } from "../../src/services/runs/settle-run.ts";
import { stepRunJob, type StepRunJobDeps } from "../../src/services/runs/step-run-job.ts";
import { cancelRequested, isStopped } from "../../src/stores/around.ts";
import { endRunJob } from "../../src/stores/runs/run-jobs.ts";
import { countAnswers } from "../attempts.ts";
import type { ActivityDeps } from "../deps.ts";
import { jobs, long } from "../jobs.ts";
import type { NodeExecutors } from "../nodes/by-kind.ts";
import { observeFailures } from "../observe-failures.ts";
import { wrapEach } from "../wrap-each.ts";
import { createChildRuns } from "./child-runs.ts";
import { createEvaluate, assemble, splitItems, storeOutputs, takeMember } from "./values.ts";
import { createExecuteChain } from "./execute-chain.ts";
import { createExecuteNode } from "./execute-node.ts";
import { createExpirePause } from "./pauses.ts";
import { unlessItStops, unlessItsMapStops } from "./stop-early.ts";
import type { LocalRunActivities, NodeActivities, RunJobActivities } from "./types.ts";

/** The short activities of runs. */
export function createLocalRunActivities(deps: ActivityDeps): LocalRunActivities {
  const { config, db, blobs, evaluation, feed, observer, plans, recorder, traces } = deps;
  const createChildRun = createChildRuns({
    ...deps,
    limits: { ...runLimits(config, db), max_input_bytes: config.MILLRACE_INPUT_LIMIT_BYTES },
  });
  const evaluate = createEvaluate(blobs, plans, evaluation);
  return {
    recordReport: async (report) => (await recorder.record(report)).state,
    cancelRequested: ({ org_id, run_id }) => db.org(org_id, (connection) => cancelRequested(connection, run_id)),
    evaluate: (input) => unlessItStops(db, input.run, () => evaluate(input)),
    async loadPlan({ run_id, ...of }) {
      const unwanted = run_id !== undefined && (await db.org(of.org_id, (connection) => isStopped(connection, run_id)));
      return unwanted ? null : (await plans.get(of)).plan;
    },
    storeValue: async ({ org_id, value }) => storeBlobValue(blobs, org_id, await loadValue(blobs, value)),
    storeOutputs: (input) => storeOutputs(blobs, input),
    assemble: (input) => assemble(blobs, input),
    takeMember: (input) => takeMember(blobs, input),
    splitItems: (input) => splitItems(blobs, input),
    createChildRun: (input) => traces.within(input.run, input.path, () => createChildRun(input)),
    async cancelUnstartedRun({ org_id, run_id }) {
      await settleRun({ db, feed, observer }, org_id, run_id, ({ cancel_requested }) =>
        cancelledEnd(cancel_requested?.reason ?? null),
      );
    },
    // Workflows started by an earlier release do not name their run.
    wait({ ms, run }) {
      const wait = (): Promise<void> => Context.current().sleep(ms);
      return run === undefined ? wait() : unlessItStops(db, run, wait);
    },
    expirePause: createExpirePause(db, feed),
  };
}

export interface NodeActivityDeps extends ActivityDeps {
  readonly executors: NodeExecutors;
  /** Whether a node's activity may start another node of the organisation. */
  readonly mayContinue: (orgId: string) => boolean;
}

/** The activities of a run's nodes. */
export function createNodeActivities(deps: NodeActivityDeps): NodeActivities {
  const executeNode = countAnswers(createExecuteChain(createExecuteNode(deps), deps));
  return observeFailures(wrapEach({ executeNode: unlessItsMapStops(deps.db, executeNode) }, long), deps.onFailure);
}

/** Jobs over many runs. */
export function createRunJobActivities(deps: StepRunJobDeps & Pick<ActivityDeps, "onFailure">): RunJobActivities {
  const activities: RunJobActivities = {
    stepRunJob: (input) => stepRunJob(deps, input, Context.current().cancellationSignal),
  };
  return jobs(activities, deps, {
    stepRunJob: ({ org_id, job_id }, error) =>
      deps.db.org(org_id, (connection) => endRunJob(connection, job_id, "FAILED", { run_id: null, ...error })),
  });
}
