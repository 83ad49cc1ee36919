import fc from "fast-check";
import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import { NODE_KINDS } from "../../src/domain/flow/kinds.ts";
import { node } from "./flows.ts";

type Node = FlowDefinition["nodes"][number];

/** Nodes that are allowed anywhere. They read the nodes in `earlier`, which have finished before they run. */
function anyNode(id: string, earlier: readonly string[], depth: number): fc.Arbitrary<Node> {
  const read = earlier.length === 0 ? fc.constant("1") : fc.constantFrom(...earlier).map((from) => `nodes["${from}"]`);
  const text =
    earlier.length === 0 ? fc.constant("plain") : fc.constantFrom(...earlier).map((from) => `{{ nodes["${from}"] }}`);
  const more = fc.constantFrom<Partial<Node>>(
    {},
    { on_error: "continue", default_output: null },
    { skip_if: "false" },
    { name: "n" },
    { retry: { max_attempts: 2 } },
  );
  const config: Array<fc.Arbitrary<[string, object]>> = [
    text.map((template) => ["template", { template }]),
    read.map((a) => ["set", { values: { a } }]),
    read.map((value) => ["guard", { check: `${value} != null`, message: "no" }]),
    text.map((url) => ["http", { url: `https://a.example/${url}` }]),
    read.map((a) => ["code", { source: "function main(args) { return args; }", args: { a } }]),
    read.map((a) => ["subflow", { project_id: "other", inputs: { "in-0": a } }]),
    fc.constant(["delay", { seconds: 1 }]),
    ...(depth > 0
      ? [
          fc
            .tuple(read, anyGraph(earlier, depth - 1))
            .map(([items, flow]): [string, object] => ["map", { items, flow }]),
          fc
            .tuple(read, anyGraph(earlier, depth - 1))
            .map(([value, flow]): [string, object] => ["loop", { while: `${value} == last`, flow }]),
        ]
      : []),
  ];
  return fc
    .tuple(fc.oneof(...config), more)
    .map(([[kind, parts], extra]) => node(id, kind, parts as Record<string, unknown>, extra));
}

/** A graph whose node n may read, and has an edge from, earlier nodes; one output has an edge from the last node. */
function anyGraph(around: readonly string[], depth: number): fc.Arbitrary<Pick<FlowDefinition, "nodes" | "edges">> {
  return fc.integer({ min: 1, max: 5 }).chain((count) => {
    const ids = Array.from({ length: count }, (_, index) => `${"nmk"[depth] ?? "x"}-${index}`);
    const nodes = ids.map((id, index) => anyNode(id, [...around, ...ids.slice(0, index)], depth));
    return fc
      .tuple(fc.tuple(...nodes), fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: 4 }))
      .map(([made, shortcuts]) => {
        const chain = ids.slice(1).map((target, index) => ({ source: ids[index] ?? "", target }));
        const extra = shortcuts.flatMap(([a, b]) => (b > a + 1 ? [`${ids[a]} ${ids[b]}`] : []));
        const further = [...new Set(extra)].map((pair) => ({
          source: pair.split(" ")[0] ?? "",
          target: pair.split(" ")[1] ?? "",
        }));
        return {
          nodes: [...made, node("out-0", "output")],
          edges: [...chain, ...further, { source: ids.at(-1) ?? "", target: "out-0" }],
        };
      });
  });
}

/** Valid flows, some of them nested; the nodes are in no particular order. */
export const validFlows: fc.Arbitrary<FlowDefinition> = anyGraph(["in-0"], 2).chain(({ nodes, edges }) => {
  const first = nodes[0]?.id ?? "";
  const all = [node("in-0", "input"), ...nodes];
  return fc.shuffledSubarray(all, { minLength: all.length }).map((shuffled) => ({
    schema_version: 1 as const,
    name: "made up",
    nodes: shuffled,
    edges: [{ source: "in-0", target: first }, ...edges],
  }));
});

const junk = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "in-0",
    "out-0",
    "out",
    "error",
    "$..x",
    "{{ in-0 }}",
    "nodes",
    ...NODE_KINDS,
  ),
);

/** These flows, with up to `most` of their fields replaced by junk or removed. */
export function mutated(flows: fc.Arbitrary<FlowDefinition>, most: number): fc.Arbitrary<unknown> {
  const places = fc.array(fc.tuple(fc.nat(10_000), fc.option(junk)), { minLength: 1, maxLength: most });
  return fc.tuple(flows, places).map(([flow, faults]) => {
    const copy = structuredClone(flow) as unknown;
    for (const [at, value] of faults) {
      const places: Array<[Record<string, unknown>, string]> = [];
      const open: unknown[] = [copy];
      for (let next = open.pop(); next !== undefined; next = open.pop()) {
        if (typeof next !== "object" || next === null) continue;
        for (const [key, member] of Object.entries(next)) {
          places.push([next as Record<string, unknown>, key]);
          open.push(member);
        }
      }
      const [holder, key] = places[at % Math.max(1, places.length)] ?? [];
      if (!holder || key === undefined) continue;
      if (value === null) delete holder[key];
      else holder[key] = value;
    }
    return copy;
  });
}

/** Valid flows with some of their fields replaced by junk or removed. */
export const brokenFlows: fc.Arbitrary<unknown> = mutated(validFlows, 5);
