import { expect, it } from "vitest";
import { compileFlow } from "../../../../src/domain/flow/plan/compile.ts";
import { mapsThatFail } from "../../../../src/domain/flow/plan/places.ts";
import type { Plan, PlanNode } from "../../../../src/domain/flow/plan/types.ts";
import { edges, flow } from "../../../support/flows.ts";

type Errors = "fail" | "continue";
type Items = "fail" | "skip" | "collect";

/** A request inside a map inside a loop inside a map, each with its own error handling. */
function planOf(outer: Items, loop: Errors, inner: Items, request: Errors): Plan {
  const out = { id: "o", type: "output" };
  const http = { id: "d", type: "http", config: { url: "https://api.example" }, on_error: request };
  const inside = (node: object, path: string) => ({
    nodes: [
      { config: {}, ...node },
      { ...out, config: {} },
    ],
    edges: edges(path),
  });
  const map = (id: string, on_item_error: Items, nested: object) => ({
    id,
    type: "map",
    config: { items: "[1]", on_item_error, flow: nested },
  });
  const c = map("c", inner, inside(http, "d > o"));
  const b = { id: "b", type: "loop", config: { while: "true", flow: inside(c, "c > o") }, on_error: loop };
  return compileFlow(flow(inside(map("a", outer, inside(b, "b > o")), "a > o") as never));
}

function nodeAt(plan: Plan, path: string): PlanNode {
  const [id = "", ...rest] = path.split("/");
  const node = plan.nodes.find((each) => each.id === id);
  if (!node) throw new Error(`no node ${path}`);
  return rest.length === 0 ? node : nodeAt(node.nested as Plan, rest.join("/"));
}

it.each<[Items, Errors, Items, Errors, string[]]>([
  ["fail", "fail", "fail", "fail", ["a[7]/b[0]/c", "a"]],
  ["collect", "fail", "fail", "fail", ["a[7]/b[0]/c"]],
  ["fail", "continue", "fail", "fail", ["a[7]/b[0]/c"]],
  ["fail", "fail", "skip", "fail", []],
  ["fail", "fail", "fail", "continue", []],
])(
  "items %s, loop %s, items %s, request %s: the maps %j fail with the request",
  (outer, loop, inner, request, failing) => {
    const plan = planOf(outer, loop, inner, request);
    const place = { plan_path: "a/b/c/d", path: "a[7]/b[0]/c[12]/d" };
    expect(mapsThatFail((path) => nodeAt(plan, path), place).map(({ path }) => path)).toEqual(failing);
  },
);
