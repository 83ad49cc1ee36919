import type { StoredValue } from "../../src/domain/json.ts";
import type { RunWorkflowInput } from "../../src/domain/runs/run.ts";
import type { NodeAddress, RunIdentity, StoredScope } from "../../src/domain/runs/run-report.ts";

/** The iterations a slice runs: `from` up to, but not including, `to`. */
export type SliceWork =
  | { readonly kind: "map"; readonly items: StoredValue; readonly from: number; readonly to: number }
  | { readonly kind: "loop"; readonly last: StoredValue; readonly from: number; readonly to: number };

/** The input of a slice's workflow: some iterations of a map or loop that is too long for one workflow's history. */
export interface SliceInput extends NodeAddress {
  readonly input: Omit<RunWorkflowInput, "plan" | "reuse">;
  readonly identity: RunIdentity;
  readonly parent_workflow_id: string;
  /** The outer values that the nested flow can read. */
  readonly scope: StoredScope;
  readonly iterations_before: number;
  readonly work: SliceWork;
}

/** The result of a slice's workflow. */
export interface SliceOutcome {
  /** A map's list of results; a loop's last value. */
  readonly value: StoredValue;
  readonly index: number;
  readonly finished: boolean;
  /** Iterations of maps and loops inside, for the run's budget. */
  readonly iterations: number;
}

/** Where a loop stands. */
export interface LoopState {
  /** The next round, from 0. */
  readonly index: number;
  readonly last: StoredValue;
  /** Whether `while` was false. */
  readonly finished: boolean;
}
