import type { NodeKind } from "../kinds.ts";
import { NODE_SPECS, nodeHandles } from "../nodes/index.ts";
import { orderNodes, upstreamOf } from "./graph.ts";
import type { Plan, PlanNode } from "./types.ts";

/** A node with a longer time-out is executed alone (ms). */
const MAX_TIMEOUT_MS = 600_000;

/**
 * Sets `next` on each node after which exactly one node is due, whatever the rest of the flow does. The activity that executes the first
 * slow node of such a chain may also execute the others. A flow with redaction has no chains, because after a crash masked values could not
 * be read back from the record.
 */
export function withChains(plan: Plan): Plan {
  if ((plan.settings.redact ?? []).length > 0) return plan;
  const at = new Map(plan.nodes.map(({ id }, index) => [id, index]));
  const links = plan.edges.map(({ source, target }) => ({ source: at.get(source) ?? 0, target: at.get(target) ?? 0 }));
  const isBefore = upstreamOf(plan.nodes.length, orderNodes(plan.nodes.length, links), links);
  const targets = plan.nodes.map(() => new Set<number>());
  const sources = plan.nodes.map(() => new Set<number>());
  for (const { source, target } of links) {
    targets[source]?.add(target);
    sources[target]?.add(source);
  }

  const nextOf = (node: PlanNode, index: number): number | undefined => {
    const [next, ...others] = targets[index] ?? [];
    const follower = next === undefined ? undefined : plan.nodes[next];
    if (next === undefined || follower === undefined || others.length > 0) return undefined;
    const handles = nodeHandles(NODE_SPECS[node.type], node.config, node.on_error);
    const leavesOneWay = handles.length === 1 && handles[0] === "out";
    // Waits for no other node: the follower's other sources have settled before this node begins.
    const waits = [...(sources[next] ?? [])].some((source) => source !== index && !isBefore(index, source));
    return leavesOneWay && !waits && mayFollow(follower) ? next : undefined;
  };

  const marked: PlanNode[] = [...plan.nodes];
  // Backwards, so that a follower is already marked. A chain without a slow node saves nothing. Every edge of `nodes` leads forward.
  for (let index = marked.length - 1; index >= 0; index -= 1) {
    const node = marked[index];
    if (!node || (node.execution !== "inline" && !isSlow(node))) continue;
    const follower = marked[nextOf(node, index) ?? -1];
    if (follower && (isSlow(follower) || follower.next !== undefined)) marked[index] = { ...node, next: follower.id };
  }
  return { ...plan, nodes: marked };
}

const isSlow = ({ execution, timeout_ms = 0 }: PlanNode): boolean =>
  execution === "activity" && timeout_ms <= MAX_TIMEOUT_MS;

/** Node types that a chain evaluates between two slow nodes. */
const LINKS: ReadonlySet<NodeKind> = new Set(["template", "set", "guard"]);

const mayFollow = (node: PlanNode): boolean =>
  node.skip_if === undefined && ((node.execution === "inline" && LINKS.has(node.type)) || isSlow(node));
