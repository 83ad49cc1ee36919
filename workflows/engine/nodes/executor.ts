import type { StoredValue } from "../../../src/domain/json.ts";
import type { NodeKind } from "../../../src/domain/flow/kinds.ts";
import type { PlanNodeOf } from "../../../src/domain/flow/plan/types.ts";
import type { Frame } from "../frame.ts";

export interface Executed {
  readonly value: StoredValue;
  /** ["out"] unless the kind chooses. */
  readonly handles?: readonly string[];
  /** Whether an activity has already written the node's record. */
  readonly recorded?: boolean;
}

/** The part of the interpreter that executors use. A parameter, so that the two need not import each other. */
export interface Interpreter {
  onAttempt(attempt: number): void;
  /** Makes the next write record the node as running or paused: for nodes that may take long. */
  announce(state?: "RUNNING" | "PAUSED"): void;
  /** Records the node's end now, for an executor that then returns `recorded`. */
  complete(value: StoredValue): void;
  /** Undefined if it has settled synchronously. */
  runFrame(frame: Frame): Promise<void> | undefined;
}

/** The asynchronous execution of a node, in workflow terms. Throws what `toRunError` understands. */
export type Executor<Kind extends NodeKind = NodeKind> = (
  frame: Frame,
  node: PlanNodeOf<Kind>,
  interpreter: Interpreter,
) => Promise<Executed>;
