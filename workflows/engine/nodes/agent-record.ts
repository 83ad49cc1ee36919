import type { NodeKind } from "../../../src/domain/flow/kinds.ts";
import type { PlanNode } from "../../../src/domain/flow/plan/types.ts";
import type { Json, StoredValue } from "../../../src/domain/json.ts";
import { isNodeEnd, type NodeState, type RunError } from "../../../src/domain/runs/run.ts";
import type { Frame } from "../frame.ts";

export interface PartReport {
  readonly type: NodeKind;
  readonly path: string;
  /** Null for a step or tool call reused from an earlier run. */
  readonly startedAt: string | null;
  readonly state: NodeState;
  readonly inputs?: Json;
  readonly value?: StoredValue;
  readonly error?: RunError;
  readonly reused?: boolean;
}

/** Reports the state of a node's step or tool call, if no activity records it. */
export function reportPart(frame: Frame, node: PlanNode, { startedAt, ...report }: PartReport): void {
  frame.ctx.record.note({
    node_id: node.id,
    attempts: startedAt === null ? 0 : 1,
    started_at: startedAt,
    finished_at: isNodeEnd(report.state) ? new Date(Date.now()).toISOString() : null,
    ...report,
  });
}
