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

/** What an executor needs of the interpreter. Passed as a parameter, so that they need not import each other. */
export interface Interpreter {
  onAttempt(attempt: number): void;
  /** Lets the next write record the node as running, or as waiting for a pause: for nodes that may take long. */
  announce(state?: "RUNNING" | "PAUSED"): void;
  /** Notes the node's end now, for an executor that then answers `recorded`. */
  complete(value: StoredValue): void;
  /** Undefined where it has settled synchronously. */
  runFrame(frame: Frame): Promise<void> | undefined;
}

/** What a node that takes time does, in workflow terms. Throws what `toRunError` understands. */
export type Executor<Kind extends NodeKind = NodeKind> = (
  frame: Frame,
  node: PlanNodeOf<Kind>,
  interpreter: Interpreter,
) => Promise<Executed>;
