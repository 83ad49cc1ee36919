import { ApplicationFailure } from "@temporalio/workflow";
import type { StoredValue } from "../../src/domain/json.ts";
import type { EndAhead, ExecuteResult } from "../../src/domain/runs/run-report.ts";

/** Results of nodes that an earlier node's activity has executed. The walk settles each node when it reaches it. */
export class Ahead {
  readonly #ends = new Map<string, EndAhead>();
  readonly #recorded = new Set<string>();

  /** Keeps the results of the following nodes, and returns the node's own value. */
  keep({ ahead = [], recorded = [], ...value }: ExecuteResult): StoredValue {
    for (const end of ahead) this.#ends.set(end.node_id, end);
    for (const id of recorded) this.#recorded.add(id);
    return value;
  }

  has(nodeId: string): boolean {
    return this.#ends.has(nodeId);
  }

  /** The value of a node that was executed ahead. Throws what the node's own activity would have thrown. */
  take(nodeId: string): StoredValue {
    const end = this.#ends.get(nodeId);
    this.#ends.delete(nodeId);
    if (end?.value) return end.value;
    const { message = "", type, details } = end?.failure ?? {};
    throw ApplicationFailure.nonRetryable(message, type, details);
  }

  /** Whether the activity has already recorded this inline node. The workflow still evaluates it. */
  hasRecorded(nodeId: string): boolean {
    return this.#recorded.has(nodeId);
  }
}
