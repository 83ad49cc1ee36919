import { beforeAll, describe, expect, it } from "vitest";
import type { FlowDefinition } from "../../../src/domain/flow/definition/definition.ts";
import { flow } from "../../engine/support.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { create, index, PATH } from "./bases.ts";

const UNKNOWN = "0197f0a0-0000-7000-8000-000000000000";

let mine: ApiTenant;
let base: string;
let refunds: string;
beforeAll(async () => {
  mine = await openTenant();
  const schema = { properties: { topic: { type: "string" } } };
  base = (await create(mine, { user_metadata_schema: schema })).body.knowledge_base_id;
  const texts = ["Refunds are paid within ten days.", "A refund needs the receipt."];
  refunds = await index(mine, base, texts, { path: "refunds.txt", user_metadata: { topic: "money" } });
  await index(mine, base, ["Lost parcels: a refund."], { path: "parcels.txt", user_metadata: { topic: "post" } });
});

/** A flow that searches with the run's text, plus the given nodes and edges. */
function searching(
  config: Record<string, unknown>,
  nodes: readonly unknown[] = [],
  edges: readonly string[] = ["kb-0>out-0"],
): FlowDefinition {
  const all = [
    { id: "in-0", type: "input" },
    { id: "kb-0", type: "knowledge", config: { knowledge_base_id: base, query: "{{in-0}}", ...config } },
    { id: "out-0", type: "output" },
    ...nodes,
  ];
  return flow(all as FlowDefinition["nodes"], ["in-0>kb-0", ...edges]);
}

async function call(definition: FlowDefinition, text: string) {
  const project = await mine.deploy(definition);
  return mine.public.post(`/inference/v0/run/${mine.org_id}/${project}`, { "in-0": text });
}

describe("a knowledge node", () => {
  it("passes its text to an output, and its citations to the run", async () => {
    const { status, body } = await call(searching({ neighbors: 1, top_k: 1 }), "receipt");
    expect([status, body.outputs]).toEqual([
      200,
      { "out-0": "[1] refunds.txt\nRefunds are paid within ten days.\nA refund needs the receipt." },
    ]);
    expect(body.citations).toEqual([
      {
        node_id: "kb-0",
        index: 1,
        knowledge_base_id: base,
        resource_id: refunds,
        resource_path: "refunds.txt",
        source_url: null,
        chunk_id: expect.any(String),
        page_start: null,
        page_end: null,
        char_start: 34,
        char_end: 61,
        score: expect.any(Number),
      },
    ]);
    const { body: run } = await mine.secret.get(`/v2/runs/${body.run_id}`, { query: { expand: "nodes" } });
    const node = run.nodes.find((each: { node_id: string }) => each.node_id === "kb-0");
    expect(node.inputs).toEqual({ query: "receipt", query_strategy: "hybrid", strategy_used: "keyword" });
    expect(node.output.results).toHaveLength(1);
  });

  it("renders its query and filters, and passes its results to templates and expressions", async () => {
    const nodes = [
      { id: "set-0", type: "set", config: { values: { paths: "nodes['kb-0'].results.map(r, r.resource_path)" } } },
    ];
    const filter = { field: "topic", op: "eq", value: "{{in-0}}" };
    const definition = searching({ query: "refund {{in-0}}", filter }, nodes, ["kb-0>set-0", "set-0>out-0"]);
    const { body } = await call(definition, "post");
    expect(body.outputs).toEqual({ "out-0": { paths: ["parcels.txt"] } });
  });

  it("lists a chunk once, even if several nodes found it", async () => {
    const nodes = [{ id: "kb-1", type: "knowledge", config: { knowledge_base_id: base, query: "receipt" } }];
    const { body } = await call(searching({}, nodes, ["in-0>kb-1", "kb-0>out-0", "kb-1>out-0"]), "receipt");
    expect(body.citations.map((each: { resource_id: string }) => each.resource_id)).toEqual([refunds]);
  });

  it("returns no results without failing", async () => {
    const { body } = await call(searching({}), "zebra");
    expect([body.state, body.outputs, body.citations]).toEqual(["COMPLETED", { "out-0": "" }, []]);
  });

  it("fails with a reason if it cannot search", async () => {
    const blank = await call(searching({ query: "{{ inputs['no'] }}" }), "x");
    expect([blank.status, blank.body.error.code]).toEqual([500, "invalid_query"]);
    const semantic = await call(searching({ query_strategy: "semantic" }), "x");
    expect([semantic.status, semantic.body.error]).toMatchObject([
      500,
      { code: "invalid_query", node_id: "kb-0", message: expect.stringContaining("embedding model") },
    ]);
  });
});

describe("a flow that names a knowledge base", () => {
  it("is rejected if it does not exist or belongs to another organisation", async () => {
    const other = await openTenant();
    const theirs = (await create(other)).body.knowledge_base_id;
    for (const knowledge_base_id of [UNKNOWN, theirs]) {
      const definition = searching({ knowledge_base_id });
      const refused = await mine.secret.post("/v2/projects", { name: "test", flow: definition });
      const loc = ["body", "flow", "nodes", 1, "config", "knowledge_base_id"];
      expect([refused.status, refused.body.detail]).toMatchObject([422, [{ loc, type: "unknown_knowledge_base" }]]);
      const { body } = await mine.secret.post("/v2/flows/validate", { flow: definition });
      expect(body).toMatchObject({ valid: false, problems: [{ code: "unknown_knowledge_base", node_id: "kb-0" }] });
    }
  });

  it("prevents it from being deleted while the flow is published", async () => {
    const used = await create(mine);
    const { knowledge_base_id } = used.body;
    const first = await mine.deploy(searching({ knowledge_base_id: knowledge_base_id.toUpperCase() }));
    // A knowledge base used inside a map also counts as used.
    const inside = {
      id: "map-0",
      type: "map",
      config: {
        items: "[1]",
        flow: {
          nodes: [
            { id: "kb-1", type: "knowledge", config: { knowledge_base_id, query: "x" } },
            { id: "out-1", type: "output" },
          ],
          edges: [{ source: "kb-1", target: "out-1" }],
        },
      },
    };
    const second = await mine.deploy(flow([inside, { id: "out-0", type: "output" }], ["map-0>out-0"]));
    const refused = await mine.secret.delete(used.path);
    expect([refused.status, refused.body]).toMatchObject([
      409,
      { code: "in_use", used_by: [{ project_id: first }, { project_id: second }] },
    ]);
    expect((await mine.secret.delete(`/v2/projects/${second}`)).status).toBe(204);
    const versions = `/v2/projects/${first}/versions`;
    expect((await mine.secret.post(versions, { flow: searching({}) })).status).toBe(201);
    expect((await mine.secret.delete(used.path)).status).toBe(204);
    // The version that uses the deleted knowledge base cannot be published again.
    const again = await mine.secret.post(`${versions}/1/publish`);
    expect([again.status, again.body.code]).toEqual([409, "conflict"]);
    expect((await mine.secret.get(`${PATH}/${knowledge_base_id}`)).status).toBe(404);
  });
});
