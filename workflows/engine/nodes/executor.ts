import type { StoredValue } from "../../../src/domain/json.ts";
import type { NodeKind } from "../../../src/domain/flow/kinds.ts";
import type { PlanNodeOf } from "../../../src/domain/flow/plan/types.ts";
import type { Frame } from "../frame.ts";

export interface Executed {
  readonly value: StoredValue;
  /** ["out"] unless the node type chooses. */
  readonly handles?: readonly string[];
  /** Whether an activity has already written the node's record. */
  readonly recorded?: boolean;
}

/** The part of the interpreter that executors use. It is passed as a parameter, to avoid a circular import. */
export interface Interpreter {
  onAttempt(attempt: number): void;
  /** Reports the node as running or paused with the next write. For nodes that may take long. */
  announce(state?: "RUNNING" | "PAUSED", more?: { readonly due_at?: string }): void;
  /** Reports the node's end now; the executor must then return `recorded`. */
  complete(value: StoredValue): void;
  /** Undefined if the flow settled synchronously. */
  runFrame(frame: Frame): Promise<void> | undefined;
}

/** Executes a node asynchronously in the workflow. Throws errors that `toRunError` understands. */
export type Executor<Kind extends NodeKind = NodeKind> = (
  frame: Frame,
  node: PlanNodeOf<Kind>,
  interpreter: Interpreter,
) => Promise<Executed>;
