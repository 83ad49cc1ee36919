import type { NodeKind, PlanNode } from "../../../src/domain/flow/plan/types.ts";
import type { Json, StoredValue } from "../../../src/domain/json.ts";
import { isNodeEnd } from "../../../src/domain/runs/run.ts";
import type { NodeState, RunError } from "../../../src/domain/runs/run.ts";
import type { Frame } from "../frame.ts";

export interface PartReport {
  readonly type: NodeKind;
  readonly path: string;
  readonly startedAt: string;
  readonly state: NodeState;
  readonly inputs?: Json;
  readonly value?: StoredValue;
  readonly error?: RunError;
}

/** Notes what has become of a step or a call of a node, where no activity writes it. */
export function notePart(frame: Frame, node: PlanNode, { startedAt, ...report }: PartReport): void {
  frame.ctx.record.note({
    node_id: node.id,
    attempts: 1,
    started_at: startedAt,
    finished_at: isNodeEnd(report.state) ? new Date(Date.now()).toISOString() : null,
    ...report,
  });
}
