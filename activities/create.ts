import { Context } from "@temporalio/activity";
import type { Config } from "../src/config.ts";
import { loadValue, storeValue as storeBlobValue } from "../src/platform/blobs/blobs.ts";
import type { BlobStore } from "../src/platform/blobs/blobs.ts";
import { runLimits } from "../src/services/runs/create-run.ts";
import type { Evaluation } from "../src/platform/evaluation/evaluation.ts";
import type { Database } from "../src/stores/db.ts";
import { cancelRequested } from "../src/stores/runs/runs.ts";
import type { RunReport } from "../src/domain/runs/run-report.ts";
import { exportExperiment } from "../src/services/evals/export-experiment.ts";
import { importRows } from "../src/services/evals/import-rows.ts";
import type { ImportDeps } from "../src/services/evals/import-rows.ts";
import {
  beginExperiment,
  endExperiment,
  nextRows,
  scoreExperiment,
  scoreRows,
} from "../src/services/evals/run-experiment.ts";
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
import type { SyncDeps } from "../src/services/knowledge/sync.ts";
import { createIndexResource } from "./knowledge/index-resource.ts";
import type { IndexResourceDeps } from "./knowledge/index-resource.ts";
import { createChildRuns } from "./runs/child-runs.ts";
import { createLoadDocuments } from "./documents/load-documents.ts";
import { createEvaluate } from "./runs/evaluate.ts";
import { createExecuteNode } from "./runs/execute-node.ts";
import type { NodeExecutors } from "./runs/execute-node.ts";
import { createRunAction } from "./providers/run-action.ts";
import type { RunActionDeps } from "./providers/run-action.ts";
import { asActivity } from "./failures.ts";
import { importTools } from "../src/services/providers/import-tools.ts";
import type { ImportToolsDeps } from "../src/services/providers/import-tools.ts";
import { checkConnection } from "../src/services/providers/check-connection.ts";
import type { CheckDeps } from "../src/services/providers/check-connection.ts";
import { observeFailures } from "./observe-failures.ts";
import type { OnActivityFailure } from "./observe-failures.ts";
import { createIngestDocument } from "./documents/ingest-document.ts";
import type { IngestDeps } from "./documents/ingest-document.ts";
import { createExpirePause } from "./runs/pauses.ts";
import { createFlowCache } from "../src/services/projects/flow-cache.ts";
import { pollTrigger } from "../src/services/triggers/poll.ts";
import type { PollDeps } from "../src/services/triggers/poll.ts";
import { createScheduledRuns } from "../src/services/triggers/schedule-run.ts";
import { createPlanCache } from "../src/services/projects/plans.ts";
import type { PlanCache } from "../src/services/projects/plans.ts";
import { createRecordSink } from "./runs/record-sink.ts";
import { createRunRecorder } from "../src/services/runs/run-recorder.ts";
import type { RunRecorder, RunRecorderDeps } from "../src/services/runs/run-recorder.ts";
import { assemble, splitItems, storeOutputs, takeMember } from "./runs/values.ts";

const HEARTBEAT_MS = 1000;

export interface RecordingDeps {
  readonly config: Config;
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly feed: RunFeed;
  readonly observer: RunRecorderDeps["observer"];
}

/** The plans a process knows, and its way into the runs' records; all of its activities share them. */
export interface Recording {
  readonly plans: PlanCache;
  readonly recorder: RunRecorder;
}

export function createRecording({ config, db, blobs, feed, observer }: RecordingDeps): Recording {
  const plans = createPlanCache(db);
  const checkAfterMs = config.MILLRACE_STUCK_AFTER_MS;
  return {
    plans,
    recorder: createRunRecorder({ db, blobs, feed, plans, checkAfterMs, observer }),
  };
}

export interface ActivityDeps extends Recording {
  readonly onFailure: OnActivityFailure;
  readonly config: Config;
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly evaluation: Evaluation;
  readonly feed: RunFeed;
  /** Called for each write of a run's end that failed and is tried again. */
  readonly onFault: (error: unknown, report: RunReport) => void;
}

/** What a worker of run workflows registers. */
export interface RunWorkerParts {
  readonly activities: LocalActivities;
  readonly sinks: ReturnType<typeof createRecordSink>;
}

/** What every process that holds run workflows registers. */
export function createRunWorkerParts({
  config,
  db,
  blobs,
  evaluation,
  feed,
  plans,
  recorder,
  onFailure,
  onFault,
}: ActivityDeps): RunWorkerParts {
  const evaluate = createEvaluate(blobs, plans, evaluation);
  const loadDocuments = createLoadDocuments(db, blobs, plans);
  const createChildRun = createChildRuns({
    db,
    blobs,
    plans,
    recorder,
    limits: { ...runLimits(config), max_input_bytes: config.MILLRACE_INPUT_LIMIT_BYTES },
  });
  const expirePause = createExpirePause(db, feed);
  const createScheduledRun = createScheduledRuns({
    db,
    blobs,
    evaluation,
    flows: createFlowCache(db, plans),
    limits: runLimits(config),
    maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
  });
  const activities: LocalActivities = {
    recordReport: (report) => asActivity(() => recorder.record(report)),
    cancelRequested: ({ org_id, run_id }) =>
      asActivity(() => db.org(org_id, (connection) => cancelRequested(connection, run_id))),
    evaluate: (input) => asActivity(() => evaluate(input)),
    loadDocuments: (input) => asActivity(() => loadDocuments(input)),
    loadPlan: (of) => asActivity(async () => (await plans.get(of)).plan),
    storeValue: ({ org_id, value }) =>
      asActivity(async () => storeBlobValue(blobs, org_id, await loadValue(blobs, value))),
    storeOutputs: (input) => asActivity(() => storeOutputs(blobs, input)),
    assemble: (input) => asActivity(() => assemble(blobs, input)),
    takeMember: (input) => asActivity(() => takeMember(blobs, input)),
    splitItems: (input) => asActivity(() => splitItems(blobs, input)),
    createChildRun: (input) => asActivity(() => createChildRun(input)),
    wait: ({ ms }) => Context.current().sleep(ms),
    expirePause: (input) => asActivity(() => expirePause(input)),
    createScheduledRun: (input) => asActivity(() => createScheduledRun(input)),
  };
  return { activities: observeFailures(activities, onFailure), sinks: createRecordSink(recorder, onFault) };
}

export interface NodeActivityDeps extends ActivityDeps {
  readonly executors: NodeExecutors;
}

/** The activities of a run's nodes. */
export function createNodeActivities(deps: NodeActivityDeps): NodeActivities {
  const { blobs, plans, recorder, executors, onFailure } = deps;
  const executeNode = createExecuteNode({ blobs, plans, recorder, executors });
  return observeFailures({ executeNode: (input) => asActivity(() => executeNode(input)) }, onFailure);
}

/** The activities that read uploaded documents. */
export function createIngestActivities(deps: IngestDeps & Pick<ActivityDeps, "onFailure">): IngestActivities {
  const ingestDocument = createIngestDocument(deps);
  return observeFailures({ ingestDocument: (input) => asActivity(() => ingestDocument(input)) }, deps.onFailure);
}

/** The activities that index the resources of knowledge bases. */
export function createResourceActivities(
  deps: FetchDeps & ExtractDeps & IndexResourceDeps & Pick<ActivityDeps, "onFailure">,
): ResourceActivities {
  const fetchResource = createFetchResource(deps);
  const extractResource = createExtractResource(deps);
  const indexResource = createIndexResource(deps);
  const activities: ResourceActivities = {
    fetchResource: (input) => asActivity(() => fetchResource(input)),
    extractResource: (input) => asActivity(() => extractResource(input)),
    indexResource: (input) => asActivity(() => indexResource(input)),
  };
  return observeFailures(activities, deps.onFailure);
}

/** The activities of connections and of actions that are run by themselves. */
export function createProviderActivities(
  deps: CheckDeps & RunActionDeps & ImportToolsDeps & Pick<ActivityDeps, "onFailure">,
): ProviderActivities {
  const runAction = createRunAction(deps);
  const activities: ProviderActivities = {
    checkConnection: ({ org_id, connection_id }) =>
      asActivity(() => beating(() => checkConnection(deps, org_id, connection_id))),
    runAction: (input) => asActivity(() => beating(() => runAction(input))),
    importTools: (input) =>
      asActivity(() => beating(() => importTools(deps, input, Context.current().cancellationSignal))),
  };
  return observeFailures(activities, deps.onFailure);
}

/** The activities of triggers. */
export function createTriggerActivities(deps: PollDeps & Pick<ActivityDeps, "onFailure">): TriggerActivities {
  const activities: TriggerActivities = {
    pollTrigger: ({ org_id, id }) =>
      asActivity(() => beating(() => pollTrigger(deps, org_id, id, Context.current().cancellationSignal))),
  };
  return observeFailures(activities, deps.onFailure);
}

/** The activities of evals. */
export function createEvalActivities(
  deps: ImportDeps & RunExperimentDeps & Pick<ActivityDeps, "onFailure">,
): EvalActivities {
  const signal = (): AbortSignal => Context.current().cancellationSignal;
  const long = <T>(work: () => Promise<T>): Promise<T> => asActivity(() => beating(work));
  const activities: EvalActivities = {
    importRows: (input) => long(() => importRows(deps, input, signal())),
    beginExperiment: (input) => long(() => beginExperiment(deps, input)),
    nextRows: (input) => long(() => nextRows(deps, input)),
    scoreRows: (input) => long(() => scoreRows(deps, input, signal())),
    scoreExperiment: (input) => long(() => scoreExperiment(deps, input, signal())),
    exportExperiment: (input) => long(() => exportExperiment(deps, input)),
    scoreTaken: (input) => long(() => scoreTaken(deps, input, signal())),
    checkAlert: (input) => long(() => checkAlert(deps, input)),
    endExperiment: (input) => long(() => endExperiment(deps, input)),
  };
  return observeFailures(activities, deps.onFailure);
}

/** Heartbeats while `work` is under way: a worker that is gone is noticed by them. */
async function beating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const heartbeat = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
  }
}

/** The activities of syncs. */
export function createSyncActivities(
  deps: ListSyncDeps & ReadSyncDeps & SyncDeps & Pick<ActivityDeps, "onFailure">,
): SyncActivities {
  const listSync = createListSync(deps);
  const readSync = createReadSync(deps);
  const finishSync = createFinishSync(deps);
  const beginScheduledSync = createBeginScheduledSync(deps);
  const activities: SyncActivities = {
    listSync: (input) => asActivity(() => listSync(input)),
    readSync: (input) => asActivity(() => readSync(input)),
    finishSync: (input) => asActivity(() => finishSync(input)),
    beginScheduledSync: (base) => asActivity(() => beginScheduledSync(base)),
  };
  return observeFailures(activities, deps.onFailure);
}
