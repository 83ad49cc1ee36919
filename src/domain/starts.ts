import type { ExperimentJobInput } from "./evals/experiment.ts";
import type { ImportInput } from "./evals/import.ts";
import type { ResourceInput } from "./knowledge/ingest.ts";
import type { SyncInput } from "./knowledge/sync.ts";
import type { RunJobInput } from "./runs/run-job.ts";
import type { Urgency } from "./urgency.ts";

/** What the workflow of each kind of background work is started with: IDs and settings, and never a text of a person. */
export interface StartInputs {
  readonly resource: ResourceInput;
  readonly sync: SyncInput;
  readonly import: ImportInput;
  /** A job to `cancel` is started as well, because its workflow records the end. */
  readonly experiment_job: Omit<ExperimentJobInput, "run_queue" | "node_queue"> & { readonly cancel: boolean };
  readonly run_job: RunJobInput;
  readonly erasure: { readonly org_id: string; readonly erasure_id: string };
  readonly action_run: { readonly org_id: string; readonly action_run_id: string; readonly timeout_seconds: number };
}

export type StartKind = keyof StartInputs;

export type WantedStart<Kind extends StartKind = StartKind> = {
  [Each in Kind]: { readonly kind: Each; readonly input: StartInputs[Each] };
}[Kind];

/** Starts the workflow of each kind unless it is running. Another start of the same work changes nothing. */
export type WorkflowStarts = {
  readonly [Kind in StartKind]: (input: StartInputs[Kind]) => Promise<void>;
};

/** How soon the result of each kind is needed. Other workflows and activities that it starts inherit this. */
export const START_URGENCY = {
  resource: "later",
  sync: "batch",
  import: "batch",
  experiment_job: "batch",
  run_job: "batch",
  erasure: "later",
  action_run: "awaited",
} as const satisfies Record<StartKind, Urgency>;
