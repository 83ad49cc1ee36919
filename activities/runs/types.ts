import type { Plan } from "../../src/domain/flow/plan/types.ts";
import type { StoredValue } from "../../src/domain/json.ts";
import type { HandedBack } from "../../src/domain/runs/handed-back.ts";
import type { RunJobInput, RunJobStep } from "../../src/domain/runs/run-job.ts";
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
  RunIdentity,
  RunReport,
  SplitItemsInput,
  SplitItemsResult,
  StoreOutputsInput,
  TakeMemberInput,
} from "../../src/domain/runs/run-report.ts";
import type { RunState } from "../../src/domain/runs/run.ts";
import type { VersionKey } from "../../src/services/projects/plans.ts";

/** Short activities of runs, in the same process as the workflow. */
export interface LocalRunActivities {
  /** Writes a report into the run's record, and returns the state of the run. */
  recordReport(report: RunReport): Promise<RunState>;
  /** Why a run has to stop; null if it may continue. */
  cancelRequested(run: { org_id: string; run_id: string }): Promise<{ reason: string | null } | null>;
  evaluate(input: EvaluateInput): Promise<EvaluateResult | HandedBack>;
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
}

/** Slow, long or untrusted work of a run's nodes, on workers, with heartbeats, cancellable. */
export interface NodeActivities {
  executeNode(input: ExecuteInput): Promise<ExecuteResult>;
}

/** Jobs over many runs. */
export interface RunJobActivities {
  /** Continues a job with a page of runs. */
  stepRunJob(input: RunJobInput): Promise<RunJobStep>;
}
