import { indexPlan } from "./planner.ts";
import type { Plan } from "./types.ts";

/**
 * The nodes to execute for the value of `until`: the node itself, and the nodes before it or read by it, except pinned nodes and the ones that
 * only pinned nodes need.
 */
export function nodesFor(plan: Plan, until: string, pinned: ReadonlySet<string>): ReadonlySet<string> {
  const { incoming, nodes } = indexPlan(plan);
  const sourcesOf = (id: string): string[] => (incoming.get(id) ?? []).map(({ source }) => source);
  const needed = new Set([until]);
  // Iterating a set also visits items added during the iteration.
  for (const id of needed) {
    // A node may read others past pinned ones.
    const reads = nodes.get(id)?.reads ?? [];
    const read = reads === "*" ? before(id, sourcesOf) : reads.filter((each) => nodes.has(each));
    for (const each of [...sourcesOf(id), ...read]) if (!pinned.has(each)) needed.add(each);
  }
  return needed;
}

/** All nodes before a node. */
function before(id: string, sourcesOf: (id: string) => string[]): ReadonlySet<string> {
  const found = new Set(sourcesOf(id));
  for (const each of found) for (const source of sourcesOf(each)) found.add(source);
  return found;
}
