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

/** What the interpreter lends an executor; handed in, so that interpreter and executors need not import each other. */
export interface Interpreter {
  onAttempt(attempt: number): void;
  /** Has the next write tell that the node is running (or, for a pause, waiting): for nodes that may take long. */
  announce(state?: "RUNNING" | "PAUSED"): void;
  /** Notes the node's end now, for an executor that then answers `recorded`. */
  complete(value: StoredValue): void;
  /** Undefined where all has been done at once. */
  runFrame(frame: Frame): Promise<void> | undefined;
}

/** What a node that takes time does, in workflow terms. Throws what `toRunError` understands. */
export type Executor<Kind extends NodeKind = NodeKind> = (
  frame: Frame,
  node: PlanNodeOf<Kind>,
  interpreter: Interpreter,
) => Promise<Executed>;
