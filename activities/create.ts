import { Context } from "@temporalio/activity";
import type { Config } from "../src/config.ts";
import { loadValue, storeValue as storeBlobValue } from "../src/platform/blobs/blobs.ts";
import type { BlobStore } from "../src/platform/blobs/blobs.ts";
import { cancelledEnd, settleRun } from "../src/services/runs/settle-run.ts";
import { runLimits } from "../src/services/runs/create-run.ts";
import { holdingAnswers } from "../src/platform/fetch/held-answers.ts";
import { asCallOf } from "../src/platform/fetch/own-calls.ts";
import type { Evaluation } from "../src/platform/evaluation/evaluation.ts";
import type { Database } from "../src/stores/db.ts";
import { markError } from "../src/stores/documents/documents.ts";
import { noteMonitorError } from "../src/stores/evals/monitors.ts";
import { endRunJob } from "../src/stores/runs/run-jobs.ts";
import { isStopped } from "../src/stores/around.ts";
import { cancelRequested } from "../src/stores/runs/runs.ts";
import { noteTriggerError } from "../src/stores/triggers/triggers.ts";
import type { RunReport } from "../src/domain/runs/run-report.ts";
import { exportExperiment } from "../src/services/evals/export-experiment.ts";
import { failImport, importRows } from "../src/services/evals/import-rows.ts";
import type { ImportDeps } from "../src/services/evals/import-rows.ts";
import { endExperiment, failExperiment } from "../src/services/evals/end-experiment.ts";
import { beginExperiment, nextRows, scoreExperiment, scoreRows } from "../src/services/evals/run-experiment.ts";
import type { RunExperimentDeps } from "../src/services/evals/run-experiment.ts";
import { checkAlert, scoreTaken } from "../src/services/evals/watch-monitor.ts";
import type { RunFeed } from "../src/stores/runs/run-feed.ts";
import type {
  EvalActivities,
  IngestActivities,
  LocalActivities,
  NodeActivities,
  ProviderActivities,
  ResourceActivities,
  RunJobActivities,
  SyncActivities,
  TriggerActivities,
} from "./index.ts";
import { createExtractResource } from "./knowledge/extract-resource.ts";
import type { ExtractDeps } from "./knowledge/extract-resource.ts";
import { createFetchResource } from "./knowledge/fetch-resource.ts";
import type { FetchDeps } from "./knowledge/fetch-resource.ts";
import { createBeginScheduledSync } from "./knowledge/begin-scheduled-sync.ts";
import { createFinishSync } from "./knowledge/finish-sync.ts";
import { createListSync } from "./knowledge/list-sync.ts";
import type { ListSyncDeps } from "./knowledge/list-sync.ts";
import { createReadSync } from "./knowledge/read-sync.ts";
import type { ReadSyncDeps } from "./knowledge/read-sync.ts";
import { recordSyncEnd } from "../src/services/knowledge/sync.ts";
import type { SyncDeps } from "../src/services/knowledge/sync.ts";
import { createIndexResource } from "./knowledge/index-resource.ts";
import type { IndexResourceDeps } from "./knowledge/index-resource.ts";
import { failResource } from "./knowledge/resource-step.ts";
import { createChildRuns } from "./runs/child-runs.ts";
import { createLoadDocuments } from "./documents/load-documents.ts";
import { createEvaluate } from "./runs/evaluate.ts";
import { unlessItsMapStops, unlessItStops } from "./runs/stop-early.ts";
import { createExecuteChain } from "./runs/execute-chain.ts";
import { createExecuteNode } from "./runs/execute-node.ts";
import type { NodeExecutors } from "./nodes/by-kind.ts";
import { createRunAction, failActionRun } from "./providers/run-action.ts";
import type { RunActionDeps } from "./providers/run-action.ts";
import { countAnswers, whileBeating } from "./attempts.ts";
import { asActivity } from "./failures.ts";
import { endFaulty } from "./faults.ts";
import type { JobEnds } from "./faults.ts";
import { dropNewConnection, importTools } from "../src/services/providers/import-tools.ts";
import type { ImportToolsDeps } from "../src/services/providers/import-tools.ts";
import { checkConnection, noteCheckFault } from "../src/services/providers/check-connection.ts";
import type { CheckDeps } from "../src/services/providers/check-connection.ts";
import { shareOutLocal } from "./local-shares.ts";
import { observeFailures } from "./observe-failures.ts";
import type { OnActivityFailure } from "./observe-failures.ts";
import { createIngestDocument } from "./documents/ingest-document.ts";
import type { IngestDeps } from "./documents/ingest-document.ts";
import { createExpirePause } from "./runs/pauses.ts";
import { createFlowCache } from "../src/services/projects/flow-cache.ts";
import { pollTrigger } from "../src/services/triggers/poll.ts";
import type { PollDeps } from "../src/services/triggers/poll.ts";
import { createScheduledRuns } from "../src/services/triggers/schedule-run.ts";
import { stepRunJob } from "../src/services/runs/step-run-job.ts";
import type { StepRunJobDeps } from "../src/services/runs/step-run-job.ts";
import type { Recording } from "./recording.ts";
import { createRecordSink } from "./runs/record-sink.ts";
import type { RunRecorderDeps } from "../src/services/runs/run-recorder.ts";
import { wrapEach } from "./wrap-each.ts";
import type { Work } from "./wrap-each.ts";
import { assemble, splitItems, storeOutputs, takeMember } from "./runs/values.ts";

export interface ActivityDeps extends Recording {
  readonly onFailure: OnActivityFailure;
  readonly config: Config;
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly evaluation: Evaluation;
  readonly feed: RunFeed;
  readonly observer: RunRecorderDeps["observer"];
  /** Called whenever a write of a run's end fails and is retried. */
  readonly onFault: (error: unknown, report: RunReport) => void;
}

/** The activities and sinks that a worker of run workflows registers. */
export interface RunWorkerParts {
  readonly activities: LocalActivities;
  readonly sinks: ReturnType<typeof createRecordSink>;
}

/** The activities of every process that runs workflows of runs. */
export function createRunWorkerParts({
  config,
  db,
  blobs,
  evaluation,
  feed,
  observer,
  plans,
  recorder,
  traces,
  startInputs,
  onFailure,
  onFault,
}: ActivityDeps): RunWorkerParts {
  const createChildRun = createChildRuns({
    db,
    blobs,
    startInputs,
    plans,
    recorder,
    limits: { ...runLimits(config, db), max_input_bytes: config.MILLRACE_INPUT_LIMIT_BYTES },
  });
  const evaluate = createEvaluate(blobs, plans, evaluation);
  const activities: LocalActivities = {
    recordReport: async (report) => (await recorder.record(report)).state,
    cancelRequested: ({ org_id, run_id }) => db.org(org_id, (connection) => cancelRequested(connection, run_id)),
    evaluate: (input) => unlessItStops(db, input.run, () => evaluate(input)),
    loadDocuments: createLoadDocuments(db, blobs, plans),
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
    createScheduledRun: createScheduledRuns({
      db,
      blobs,
      startInputs,
      evaluation,
      flows: createFlowCache(db, plans),
      limits: runLimits(config, db),
      maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
    }),
  };
  return {
    activities: shareOutLocal(observeFailures(wrapEach(activities, reporting), onFailure)),
    sinks: createRecordSink(recorder, onFault),
  };
}

/** Converts an activity's errors to the form that Temporal carries. */
const reporting =
  (work: Work): Work =>
  (input) =>
    asActivity(() => work(input));

/** Like `reporting`, with heartbeats. */
const long = (work: Work): Work => reporting((input) => whileBeating(() => work(input)));

/** Long activities whose final failure ends their job. */
function jobs<Activities extends object>(
  activities: Activities,
  { onFailure }: Pick<ActivityDeps, "onFailure">,
  ends: JobEnds<Activities>,
): Activities {
  return endFaulty(observeFailures(wrapEach(activities, long), onFailure), ends);
}

export interface NodeActivityDeps extends ActivityDeps {
  readonly executors: NodeExecutors;
  /** Whether a node's activity may start another node of the organisation. */
  readonly mayContinue: (orgId: string) => boolean;
}

/** The activities of a run's nodes. */
export function createNodeActivities(deps: NodeActivityDeps): NodeActivities {
  const { db, blobs, plans, recorder, traces, executors, onFailure, mayContinue } = deps;
  const executeOne = createExecuteNode({ blobs, plans, recorder, traces, executors });
  const executeNode = countAnswers(createExecuteChain(executeOne, { db, blobs, plans, mayContinue }));
  return observeFailures(wrapEach({ executeNode: unlessItsMapStops(db, executeNode) }, long), onFailure);
}

/** The activities that read uploaded documents. */
export function createIngestActivities(deps: IngestDeps & Pick<ActivityDeps, "onFailure">): IngestActivities {
  const activities: IngestActivities = { ingestDocument: createIngestDocument(deps) };
  return jobs(activities, deps, {
    ingestDocument: ({ org_id, file_id }, error) =>
      deps.db.org(org_id, (connection) => markError(connection, file_id, error)),
  });
}

/** The activities that index the resources of knowledge bases. */
export function createResourceActivities(
  deps: FetchDeps & ExtractDeps & IndexResourceDeps & Pick<ActivityDeps, "onFailure">,
): ResourceActivities {
  const activities: ResourceActivities = {
    fetchResource: createFetchResource(deps),
    extractResource: createExtractResource(deps),
    indexResource: createIndexResource(deps),
  };
  const fail: JobEnds<ResourceActivities>["indexResource"] = (input, error) => failResource(deps.db, input, error);
  return jobs(activities, deps, {
    fetchResource: fail,
    extractResource: fail,
    indexResource: fail,
  });
}

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

/** The activities of triggers. */
export function createTriggerActivities(deps: PollDeps & Pick<ActivityDeps, "onFailure">): TriggerActivities {
  const activities: TriggerActivities = {
    pollTrigger: ({ org_id, id }) => pollTrigger(deps, org_id, id, Context.current().cancellationSignal),
  };
  return jobs(activities, deps, {
    pollTrigger: ({ org_id, id }, { message }) =>
      deps.db.org(org_id, (connection) => noteTriggerError(connection, id, message)),
  });
}

/** The activities of evals. */
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

/** The activities of syncs. */
export function createSyncActivities(
  deps: ListSyncDeps & ReadSyncDeps & SyncDeps & Pick<ActivityDeps, "onFailure">,
): SyncActivities {
  const activities: SyncActivities = {
    listSync: createListSync(deps),
    readSync: createReadSync(deps),
    finishSync: createFinishSync(deps),
    beginScheduledSync: createBeginScheduledSync(deps),
  };
  const fail: JobEnds<SyncActivities>["listSync"] = (input, error) =>
    deps.db.orgTransaction(input.org_id, (connection) => recordSyncEnd(connection, input, "failed", error));
  return jobs(activities, deps, {
    listSync: fail,
    readSync: fail,
    finishSync: fail,
    // No sync exists whose failure could be recorded; the schedule starts the next one.
    beginScheduledSync: null,
  });
}
