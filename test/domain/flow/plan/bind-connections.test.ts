import { expect, it } from "vitest";
import { bindConnections } from "../../../../src/domain/flow/plan/bind-connections.ts";
import { compileFlow } from "../../../../src/domain/flow/plan/compile.ts";
import { edges, flow, node } from "../../../support/flows.ts";

const [A, B, C] = ["a", "b", "c"].map((digit) => `0197f0a0-0000-7000-8000-00000000000${digit}`);

it("replaces the connections of nodes, of tools and inside maps, and no text that looks like one", () => {
  const action = (inputs: object) => ({ provider_id: "http", action_id: "get", connection_id: A, inputs });
  const tool = { type: "action", provider_id: "http", action_id: "get", fixed_inputs: { connection_id: A } };
  const plan = compileFlow(
    flow({
      nodes: [
        node("in-0", "input"),
        node("act-0", "action", action({ connection_id: A, url: `/${A}` })),
        node("llm-0", "llm", { prompt: "x", connection_id: C, tools: [{ ...tool, connection_id: A }, tool] }),
        node("map-0", "map", {
          items: "[1]",
          flow: {
            nodes: [node("act-1", "action", action({ url: "/x" })), node("out-1", "output")],
            edges: edges("act-1 > out-1"),
          },
        }),
        node("out-0", "output"),
      ],
      edges: edges("in-0 > act-0 > llm-0 > map-0 > out-0"),
    }),
  );
  const bound = bindConnections(plan, { [A ?? ""]: B ?? "" });
  const of = (id: string) => bound.nodes.find((each) => each.id === id);
  expect(of("act-0")?.config).toMatchObject({ connection_id: B, inputs: { connection_id: A, url: `/${A}` } });
  expect(of("llm-0")?.config).toMatchObject({ connection_id: C, tools: [{ connection_id: B }, {}] });
  expect(JSON.stringify(of("llm-0")?.config)).toContain(`"fixed_inputs":{"connection_id":"${A}"}`);
  expect(of("map-0")?.nested?.nodes[0]?.config).toMatchObject({ connection_id: B });
  expect(JSON.stringify(plan)).not.toContain(B);
});
