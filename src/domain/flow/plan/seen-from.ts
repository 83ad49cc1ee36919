import type { NodeKind } from "../kinds.ts";
import type { Plan } from "./types.ts";

/** The types of the nodes that a node can read, by ID, including nodes of the enclosing flows. */
export function kindsSeenFrom(plan: Plan, planPath: string): ReadonlyMap<string, NodeKind> {
  const kinds = new Map<string, NodeKind>();
  let flow: Plan | undefined = plan;
  for (const id of planPath.split("/")) {
    for (const node of flow?.nodes ?? []) kinds.set(node.id, node.type);
    flow = flow?.nodes.find((node) => node.id === id)?.nested;
  }
  return kinds;
}
