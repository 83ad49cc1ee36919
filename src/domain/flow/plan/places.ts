import type { NodeKind } from "../kinds.ts";
import { ofKind } from "./by-kind.ts";
import type { Plan, PlanNode } from "./types.ts";

/** The flows around a path of IDs such as "map-0/http-0", outermost first, each with the path's node in it. */
function flowsAround(plan: Plan, path: string): Array<{ readonly flow: Plan; readonly node: PlanNode | undefined }> {
  const [id, ...rest] = path.split("/");
  const node = plan.nodes.find((each) => each.id === id);
  const inner = rest.length > 0 && node?.nested ? flowsAround(node.nested, rest.join("/")) : [];
  return [{ flow: plan, node }, ...inner];
}

/** The node at a path of IDs; undefined if there is none. */
export function planNodeAt(plan: Plan, path: string): PlanNode | undefined {
  return flowsAround(plan, path)[path.split("/").length - 1]?.node;
}

/** The types of the nodes that a node can read, by ID, including nodes of the enclosing flows. */
export function kindsSeenFrom(plan: Plan, planPath: string): ReadonlyMap<string, NodeKind> {
  const seen = flowsAround(plan, planPath).flatMap(({ flow }) => flow.nodes);
  return new Map(seen.map(({ id, type }) => [id, type]));
}

interface Place {
  /** IDs from the top level of the plan, joined with "/": "map-0/http-0". */
  readonly plan_path: string;
  /** The same with iterations: "map-0[3]/http-0". */
  readonly path: string;
}

/** The maps and loops around a node, innermost first: for "a[1]/b[2]/c" these are "a[1]/b" and "a". */
export function placesAround({ plan_path, path }: Place): Place[] {
  const end = plan_path.lastIndexOf("/");
  if (end === -1) return [];
  const outer = path.slice(0, path.lastIndexOf("/"));
  const place = { plan_path: plan_path.slice(0, end), path: outer.slice(0, outer.lastIndexOf("[")) };
  return [place, ...placesAround(place)];
}

/** The maps around a node that fail when the node has failed without recovery, innermost first. */
export function mapsThatFail(
  nodeAt: (planPath: string) => PlanNode,
  place: Place,
): Array<{ readonly node: PlanNode; readonly path: string }> {
  const failing: Array<{ node: PlanNode; path: string }> = [];
  let inside = nodeAt(place.plan_path);
  for (const { plan_path, path } of placesAround(place)) {
    if (inside.on_error !== "fail") return failing;
    inside = nodeAt(plan_path);
    if (inside.type !== "map") continue;
    if (ofKind(inside, "map").config.on_item_error !== "fail") return failing;
    failing.push({ node: inside, path });
  }
  return failing;
}
