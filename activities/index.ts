import type { NO_PLACE } from "../src/domain/triggers/scheduled.ts";
import type { RunJobInput, RunJobStep } from "../src/domain/runs/run-job.ts";
import type { HandedBack } from "../src/domain/runs/handed-back.ts";
import type { RunInput, RunState } from "../src/domain/runs/run.ts";
import type { Plan } from "../src/domain/flow/plan/types.ts";
import type { StoredValue } from "../src/domain/json.ts";
import type {
  AssembleInput,
  ChildRunStart,
  CreateChildRunInput,
  EvaluateInput,
  EvaluateResult,
  ExecuteInput,
  ExecuteResult,
  ExpirePauseInput,
  ExpirePauseResult,
  LoadDocumentsResult,
  RunIdentity,
  RunReport,
  SplitItemsInput,
  TakeMemberInput,
  SplitItemsResult,
  StoreOutputsInput,
} from "../src/domain/runs/run-report.ts";
import type { VersionKey } from "../src/services/projects/plans.ts";
import type { IngestInput } from "../src/domain/documents/document.ts";
import type {
  ExperimentEndInput,
  ExperimentJobInput,
  ExperimentLanes,
  LaneInput,
  LaneRow,
} from "../src/domain/evals/experiment.ts";
import type { WatchInput } from "../src/domain/evals/monitor.ts";
import type { ImportInput } from "../src/domain/evals/import.ts";
import type { IngestStep, ResourceInput } from "../src/domain/knowledge/ingest.ts";
import type { SyncInput, SyncStep } from "../src/domain/knowledge/sync.ts";
import type { ActionRunInput, CheckInput, ToolsImportInput, ToolsImportResult } from "../src/domain/providers/jobs.ts";
import type { ShardInput, ShardOutcome } from "../src/domain/webhooks/shards.ts";

/** Short activities that run in the same process as the workflow. */
export interface LocalActivities {
  /** Writes a report into the run's record, and returns the state of the run. */
  recordReport(report: RunReport): Promise<RunState>;
  /** Whether an accepted run was cancelled before it started, and why. */
  cancelRequested(run: { org_id: string; run_id: string }): Promise<{ reason: string | null } | null>;
  evaluate(input: EvaluateInput): Promise<EvaluateResult | HandedBack>;
  loadDocuments(input: EvaluateInput): Promise<LoadDocumentsResult>;
  /** The plan of a flow; null if the run or its parent run must stop, or the parent run has finished. */
  loadPlan(input: VersionKey & { run_id?: string }): Promise<Plan | null>;
  storeValue(input: { org_id: string; value: StoredValue }): Promise<StoredValue>;
  /** The outputs of a run, with references in place of outputs too long for a workflow's result. */
  storeOutputs(input: StoreOutputsInput): Promise<Record<string, StoredValue>>;
  assemble(input: AssembleInput): Promise<StoredValue>;
  takeMember(input: TakeMemberInput): Promise<StoredValue>;
  splitItems(input: SplitItemsInput): Promise<SplitItemsResult>;
  /** Inserts the row of a child run (once per ID), and returns the input of its workflow. */
  createChildRun(input: CreateChildRunInput): Promise<ChildRunStart>;
  /** Ends the record of a child run whose workflow was never started. */
  cancelUnstartedRun(run: { org_id: string; run_id: string }): Promise<void>;
  /** Resolves after a time too short for a timer of Temporal (ms). */
  wait(input: { ms: number; org_id?: string; run?: RunIdentity }): Promise<void | HandedBack>;
  expirePause(input: ExpirePauseInput): Promise<ExpirePauseResult>;
  /**
   * Inserts the run for one firing of a schedule (once per ID), and returns the input of its workflow; NO_PLACE if too
   * many runs are unfinished, null if there is nothing to start.
   */
  createScheduledRun(input: {
    org_id: string;
    id: string;
    scheduled_at: string;
  }): Promise<Omit<RunInput, "plan"> | typeof NO_PLACE | null>;
}

/** Slow, long or untrusted work of a run's nodes, on workers, with heartbeats, cancellable. */
export interface NodeActivities {
  executeNode(input: ExecuteInput): Promise<ExecuteResult>;
}

/** Activities that read uploaded documents. */
export interface IngestActivities {
  ingestDocument(input: IngestInput): Promise<void>;
}

/** The steps that index a resource of a knowledge base. */
export interface ResourceActivities {
  /** Stores the resource's bytes. */
  fetchResource(input: ResourceInput): Promise<IngestStep>;
  /** Extracts the text of the stored bytes. */
  extractResource(input: ResourceInput): Promise<IngestStep>;
  /** Cuts the text into chunks, embeds and indexes them. */
  indexResource(input: ResourceInput): Promise<IngestStep>;
}

/** Work with connections outside runs, on workers, with heartbeats. */
export interface ProviderActivities {
  checkConnection(input: CheckInput): Promise<void>;
  runAction(input: ActionRunInput): Promise<void>;
  /** Creates a provider from the tools of an MCP server. */
  importTools(input: ToolsImportInput): Promise<ToolsImportResult>;
}

/** Activities that poll what triggers watch. */
export interface TriggerActivities {
  pollTrigger(input: { org_id: string; id: string }): Promise<void>;
}

/** Long jobs of evals. */
export interface EvalActivities {
  /** Reads an import's source and applies it to its dataset. */
  importRows(input: ImportInput): Promise<void>;
  /** Creates the rows of an experiment, or resets the rows of a job; null if there is nothing to run. */
  beginExperiment(input: ExperimentJobInput): Promise<ExperimentLanes | null>;
  /** Inserts the runs of a lane's next rows and returns the rows; `more`: further rows may follow. */
  nextRows(input: LaneInput): Promise<{ rows: LaneRow[]; more: boolean }>;
  /** Records the ends of rows, and has their runs scored. */
  scoreRows(input: ExperimentJobInput & { places: readonly number[] }): Promise<void>;
  /** Scores finished runs again. */
  scoreExperiment(input: ExperimentJobInput): Promise<void>;
  exportExperiment(input: ExperimentJobInput): Promise<void>;
  /** Scores the next runs sampled by a monitor; `more`: further runs may follow. */
  scoreTaken(input: WatchInput): Promise<{ more: boolean }>;
  /** Checks whether the alert of a monitor has changed, and sends an event if so. */
  checkAlert(input: WatchInput): Promise<void>;
  /** Ends a job and, unless it is an export, its experiment. */
  endExperiment(input: ExperimentEndInput): Promise<void>;
}

/** Jobs over many runs. */
export interface RunJobActivities {
  /** Continues a job with a page of runs. */
  stepRunJob(input: RunJobInput): Promise<RunJobStep>;
}

/** The steps of a sync; each hands the work back after a while. */
export interface SyncActivities {
  /** Lists the items of the knowledge base's sources, and other pending work. */
  listSync(input: SyncInput): Promise<SyncStep>;
  /** Reads the listed documents, and has them indexed. */
  readSync(input: SyncInput): Promise<SyncStep>;
  /** Ends the sync, or reports that there is more to read. */
  finishSync(input: SyncInput): Promise<SyncStep>;
  /** Starts a sync unless one is running. */
  beginScheduledSync(base: Omit<SyncInput, "sync_id">): Promise<void>;
}

/** Deliveries of events, on workers, separate from all other work. */
export interface WebhookActivities {
  deliverShard(input: Pick<ShardInput, "shard">): Promise<ShardOutcome>;
}
