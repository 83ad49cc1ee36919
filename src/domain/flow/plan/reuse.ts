import type { CheckpointNode } from "../../runs/run.ts";
import { indexPlan } from "./planner.ts";
import type { Plan } from "./types.ts";

/** Where a run resumes: at a top-level node of the plan, or, with "failed", where the earlier run stopped. */
export type ResumePoint = { readonly node_id: string } | "failed";

export interface ReuseRequest {
  /** The plan of the new run, possibly of another version than the earlier run's. */
  readonly plan: Plan;
  /** The nodes that the earlier run finished. */
  readonly checkpoint: Readonly<Record<string, CheckpointNode>>;
  readonly from: ResumePoint;
  /** IDs of inputs with new values. */
  readonly replaced: readonly string[];
}

/**
 * The nodes that a resumed run reuses: the ones that the earlier run finished, except the resume point and everything after it. An input with
 * a new value is not reused, but nodes before the resume point that read it are, because only the resume point decides what runs again.
 * Nodes that the plan does not have are dropped. Null if the plan does not have the resume point.
 */
export function reuseFor({ plan, checkpoint, from, replaced }: ReuseRequest): Record<string, CheckpointNode> | null {
  const index = indexPlan(plan);
  if (from !== "failed" && !index.nodes.has(from.node_id)) return null;
  const again = new Set(replaced);
  const reached = from === "failed" ? [] : [from.node_id];
  const seen = new Set<string>();
  for (let id = reached.pop(); id !== undefined; id = reached.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    again.add(id);
    for (const edge of index.outgoing.get(id) ?? []) reached.push(edge.target);
  }
  return Object.fromEntries(Object.entries(checkpoint).filter(([id]) => index.nodes.has(id) && !again.has(id)));
}
