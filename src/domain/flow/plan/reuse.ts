import type { CheckpointNode } from "../../runs/run.ts";
import { indexPlan } from "./planner.ts";
import type { Plan } from "./types.ts";

/**
 * Where a run resumes from: a node of the plan's top level, or "failed" for the place where the earlier run stopped.
 */
export type ResumePoint = { readonly node_id: string } | "failed";

export interface ReuseRequest {
  /** The plan the new run will walk; it may be of another version than the earlier run's. */
  readonly plan: Plan;
  /** The nodes that the earlier run had finished. */
  readonly checkpoint: Readonly<Record<string, CheckpointNode>>;
  readonly from: ResumePoint;
  /** Ids of inputs that get new values. */
  readonly replaced: readonly string[];
}

/**
 * The nodes a resumed run takes over from the earlier one: the finished ones, except the point itself and everything
 * after it. An input with a new value is not taken over. Nodes before the point that read it are: the point alone
 * decides what runs again. Nodes the plan does not have are dropped. Null if the plan has no such point.
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
