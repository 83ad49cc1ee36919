import type { Plan, PlanNode } from "./types.ts";

/** The node at a path of IDs such as "map-0/http-0"; undefined if there is none. */
export function planNodeAt(plan: Plan, path: string): PlanNode | undefined {
  let flow: Plan | undefined = plan;
  let found: PlanNode | undefined;
  for (const id of path.split("/")) {
    found = flow?.nodes.find((node) => node.id === id);
    flow = found?.nested;
  }
  return found;
}
