import type { CheckpointNode } from "../../runs/run.ts";
import { reachable } from "./graph.ts";
import { indexPlan } from "./planner.ts";
import type { Plan } from "./types.ts";

/**
 * The nodes to execute for the value of `until`: the node itself, and the nodes before it or read by it, except pinned nodes and the ones that
 * only pinned nodes need.
 */
export function nodesFor(plan: Plan, until: string, pinned: ReadonlySet<string>): ReadonlySet<string> {
  const { incoming, nodes } = indexPlan(plan);
  const sourcesOf = (id: string): string[] => (incoming.get(id) ?? []).map(({ source }) => source);
  return reachable([until], (id) => {
    // A node may read others past pinned ones.
    const reads = nodes.get(id)?.reads ?? [];
    const read = reads === "*" ? reachable(sourcesOf(id), sourcesOf) : reads.filter((each) => nodes.has(each));
    return [...sourcesOf(id), ...read].filter((each) => !pinned.has(each));
  });
}

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
  const { nodes, outgoing } = indexPlan(plan);
  if (from !== "failed" && !nodes.has(from.node_id)) return null;
  const after = reachable(from === "failed" ? [] : [from.node_id], (id) =>
    (outgoing.get(id) ?? []).map(({ target }) => target),
  );
  const again = new Set([...replaced, ...after]);
  return Object.fromEntries(Object.entries(checkpoint).filter(([id]) => nodes.has(id) && !again.has(id)));
}
