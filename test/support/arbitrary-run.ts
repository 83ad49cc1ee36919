import fc from "fast-check";
import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import { node } from "./flows.ts";

type Node = FlowDefinition["nodes"][number];
type Graph = Pick<FlowDefinition, "nodes" | "edges">;

/** Nodes that finish without help and access nothing outside; some fail, some are skipped. */
function endingNode(id: string, depth: number): fc.Arbitrary<Node> {
  const value = 'nodes["in-0"]';
  const config: Array<fc.Arbitrary<readonly [string, object]>> = [
    fc.constant(["template", { template: "{{in-0}}" }]),
    fc.constant(["set", { values: { a: value, b: "1 + 1" } }]),
    fc.constantFrom("true", `${value} == 'never'`).map((check) => ["guard", { check, message: "no" }]),
    fc.constantFrom("true", "false", "size(1)").map((when) => ["condition", { cases: [{ id: "a", when }] }]),
    fc.constant(["delay", { seconds: 0 }]),
    fc
      .constantFrom("return args.a;", "throw new Error('no');", "return { deep: [args.a, null] };")
      .map((body) => ["code", { source: `function main(args) { ${body} }`, args: { a: value } }]),
  ];
  if (depth > 0) {
    const flow = endingGraph(depth - 1, false);
    const items = fc.constantFrom("[]", "[1]", "[1, 2, 3]");
    const onError = fc.constantFrom("fail", "skip", "collect");
    config.push(
      fc
        .tuple(items, onError, fc.integer({ min: 1, max: 3 }), flow)
        .map(([list, on_item_error, max_concurrency, inner]) => [
          "map",
          { items: list, on_item_error, max_concurrency, flow: inner },
        ]),
      fc
        .tuple(fc.constantFrom("index < 2", "false", "true"), flow)
        .map(([condition, inner]) => ["loop", { while: condition, max_iterations: 3, flow: inner }]),
    );
  }
  const more = fc.constantFrom<Partial<Node>>(
    {},
    {},
    {},
    { on_error: "continue", default_output: "instead" },
    { on_error: "branch" },
    { skip_if: "true" },
    { skip_if: "false" },
  );
  return fc
    .tuple(fc.oneof(...config), more)
    .map(([[kind, parts], extra]) => node(id, kind, parts as Record<string, unknown>, extra));
}

/** The handles at which edges may leave a node. */
function handlesOf({ type, on_error }: Node): readonly string[] {
  return [...(type === "condition" ? ["case:a", "else"] : ["out"]), ...(on_error === "branch" ? ["error"] : [])];
}

/** Makes each template read its predecessors; some may have been skipped. */
function reading(edges: Graph["edges"]): (node: Node) => Node {
  return (node) => {
    const sources = edges.filter(({ target }) => target === node.id).map(({ source }) => `{{ nodes["${source}"] }}`);
    return node.type === "template" ? { ...node, config: { template: `{{in-0}} ${sources.join("")}` } } : node;
  };
}

/** Every node but the first has one to three edges from earlier nodes, at any of their handles. */
function endingGraph(depth: number, outermost: boolean): fc.Arbitrary<Graph> {
  const prefix = "abc"[depth] ?? "x";
  return fc.integer({ min: 1, max: outermost ? 7 : 3 }).chain((count) => {
    const ids = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
    const nodes = fc.tuple(...ids.map((id) => endingNode(id, depth)));
    return nodes.chain((made) => {
      const all = [...(outermost ? [node("in-0", "input")] : []), ...made, node("out-0", "output")];
      const edges = all.slice(1).map((target, before) =>
        fc
          .uniqueArray(fc.tuple(fc.nat(before), fc.nat(2)), { minLength: 1, maxLength: 3, selector: ([from]) => from })
          .map((picks) =>
            picks.map(([from, pick]) => {
              const source = all[from] ?? target;
              const handles = handlesOf(source);
              return { source: source.id, source_handle: handles[pick % handles.length] ?? "out", target: target.id };
            }),
          ),
      );
      return fc.tuple(...edges).map((lists) => ({ nodes: all.map(reading(lists.flat())), edges: lists.flat() }));
    });
  });
}

/** Valid flows whose runs all reach a terminal state within seconds. */
export const endingFlows: fc.Arbitrary<FlowDefinition> = endingGraph(2, true).map((graph) => ({
  schema_version: 1 as const,
  name: "made up",
  ...graph,
}));
