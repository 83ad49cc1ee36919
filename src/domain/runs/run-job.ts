import { TERMINAL_STATES, type RunState, type RunType } from "./run.ts";

export const RUN_JOB_ACTIONS = ["cancel", "resume", "replay"] as const;
export type RunJobAction = (typeof RUN_JOB_ACTIONS)[number];
export const RUN_JOB_STATES = ["PENDING", "RUNNING", "COMPLETED", "ABORTED", "FAILED"] as const;
export type RunJobState = (typeof RUN_JOB_STATES)[number];

export const MAX_JOB_RUNS = 100_000;
/** Most errors that a job lists; all are counted. */
export const MAX_JOB_ERRORS = 100;

/** Selects a job's runs, with the filters of the list of runs under the same names. */
export interface RunJobFilter {
  readonly run_id?: readonly string[] | undefined;
  readonly project_id?: string | undefined;
  readonly state?: readonly RunState[] | undefined;
  readonly run_type?: RunType | undefined;
  readonly user_id?: string | undefined;
  readonly parent_run_id?: string | undefined;
  readonly resumed_from?: string | undefined;
  readonly tag?: string | undefined;
  readonly stuck?: boolean | undefined;
  readonly created_after?: string | undefined;
  readonly created_before?: string | undefined;
}

/** The input of a job's workflow; everything else is in its row. */
export interface RunJobInput {
  readonly org_id: string;
  readonly job_id: string;
}

/** What follows a step: another step immediately, another step once there may be room for more runs, or nothing. */
export type RunJobStep = "more" | "wait" | "end";

export type RunJobCounts = Readonly<Record<"done" | "skipped" | "failed", number>>;

/** Why the action failed for a run; without a run, why the whole job failed. */
export interface RunJobError {
  readonly run_id: string | null;
  readonly code: string;
  readonly message: string;
}

const ACTS_ON: Readonly<Record<RunJobAction, readonly RunState[]>> = {
  cancel: ["PENDING", "RUNNING", "PAUSED", "RESUMED"],
  resume: ["FAILED", "CANCELLED"],
  replay: TERMINAL_STATES,
};

/** The run states that the filter allows and the action is possible in. If empty, the job has no runs. */
export function statesOf(action: RunJobAction, { state }: RunJobFilter): readonly RunState[] {
  return ACTS_ON[action].filter((each) => state === undefined || state.length === 0 || state.includes(each));
}
