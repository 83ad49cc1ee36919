import type { StoredValue } from "../../src/domain/json.ts";
import type { RunWorkflowInput } from "../../src/domain/runs/run.ts";
import type { NodeAddress, RunIdentity, StoredScope } from "../../src/domain/runs/run-report.ts";

/** The iterations of a slice: from `from` up to, but not including, `to`. */
export type SliceWork =
  | {
      readonly kind: "map";
      readonly items: StoredValue;
      readonly from: number;
      readonly to: number;
      /** The slice's share of the map's concurrency. Absent if earlier code started the slice; it then uses all of the concurrency. */
      readonly max_concurrency?: number;
    }
  | { readonly kind: "loop"; readonly last: StoredValue; readonly from: number; readonly to: number };

/** The input of a slice's workflow, which runs some iterations of a map or loop that is too long for one workflow's history. */
export interface SliceInput extends NodeAddress {
  readonly input: Omit<RunWorkflowInput, "plan" | "reuse">;
  readonly identity: RunIdentity;
  readonly parent_workflow_id: string;
  /** The values from outside that the nested flow can read. */
  readonly scope: StoredScope;
  readonly iterations_before: number;
  readonly work: SliceWork;
}

/** The result of a slice's workflow. */
export interface SliceOutcome {
  /** For a map, the list of results; for a loop, the last value. */
  readonly value: StoredValue;
  readonly index: number;
  readonly finished: boolean;
  /** Iterations of nested maps and loops, to count against the run's limit. */
  readonly iterations: number;
}

/** The progress of a loop. */
export interface LoopState {
  /** Index of the next iteration, from 0. */
  readonly index: number;
  readonly last: StoredValue;
  /** Whether the loop ended because `while` was false. */
  readonly finished: boolean;
}
