import { afterAll, beforeAll, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../../src/dev/model-stub.ts";
import { flow } from "../../engine/support.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { create, index } from "./bases.ts";

let stub: ModelStub;
let mine: ApiTenant;
let base: string;
let hats: string;
let model: Record<string, unknown>;
beforeAll(async () => {
  stub = await startModelStub();
  mine = await openTenant();
  base = (await create(mine)).body.knowledge_base_id;
  await index(mine, base, ["Gloves are red in winter."], { path: "gloves.txt" });
  hats = await index(mine, base, ["Hats are blue on Mondays. [1] is a number in a text."], { path: "hats.txt" });
  const credential = { base_url: `${stub.url}/v1` };
  const connection = { name: "stub", provider_id: "openai_compatible", scheme: "none", credential };
  const { body } = await mine.secret.post("/v2/connections", connection);
  model = { model: "m", connection_id: body.connection_id };
});
afterAll(() => stub.close());

const search = (id: string, query: string) => ({
  id,
  type: "knowledge",
  config: { knowledge_base_id: base, query, top_k: 1 },
});
const run = async (nodes: ReadonlyArray<Parameters<typeof flow>[0][number]>, edges: readonly string[]) => {
  const project = await mine.deploy(flow([...nodes, { id: "out-0", type: "output" }], edges));
  const { status, body } = await mine.public.post(`/inference/v0/run/${mine.org_id}/${project}`, {});
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};
const heard = (): string => JSON.stringify(stub.calls.at(-1)?.body.messages);

it("a model with search results in its prompt sees numbered sources, and the run lists those it cites", async () => {
  stub.next({ text: ["Blue on ", "Mondays [2]."] });
  const prompt = "{{kb-0}}\n{{kb-1.text}}\nWhich hat?";
  const nodes = [
    search("kb-0", "gloves"),
    search("kb-1", "hats"),
    { id: "llm-0", type: "llm", config: { ...model, prompt } },
  ];
  const body = await run(nodes, ["kb-0>llm-0", "kb-1>llm-0", "llm-0>out-0"]);
  expect(heard()).toContain("[1] gloves.txt\\nGloves");
  expect(heard()).toContain("[2] hats.txt\\nHats are blue on Mondays. [1] is");
  expect(heard()).toContain("Passages of sources are numbered");
  expect(body.outputs).toEqual({ "out-0": "Blue on Mondays [2]." });
  const cited = { index: 2, resource_id: hats, resource_path: "hats.txt", char_start: 0, page_start: null };
  expect(body.citations).toMatchObject([{ ...cited, node_id: "llm-0" }]);
  const { body: whole } = await mine.secret.get(`/v2/runs/${body.run_id}`, { query: { expand: "nodes" } });
  const node = whole.nodes.find((each: { path: string }) => each.path === "llm-0");
  expect(node.output.citations).toMatchObject([cited]);
  expect(whole.citations).toEqual(body.citations);

  stub.next({ text: ['{"blue": [1, 2], "why": "As in [1]"}'] });
  const schema = { type: "object", properties: { blue: { type: "array" }, why: { type: "string" } } };
  const typed = [
    search("kb-0", "hats"),
    { id: "llm-0", type: "llm", config: { ...model, prompt: "{{kb-0}}", schema } },
  ];
  expect((await run(typed, ["kb-0>llm-0", "llm-0>out-0"])).citations).toMatchObject([{ index: 1, resource_id: hats }]);
});

it("a model that searches with a tool sees numbered sources, and the run lists those it cites", async () => {
  const call = (at: number, query: string) => ({ id: `call_${at}`, name: "look", input: { query } });
  stub.next(
    { tools: [call(0, "gloves"), call(1, "nothing-of-the-kind")] },
    { tools: [call(2, "hats")] },
    { text: ["Blue [2]."] },
  );
  const tools = [{ type: "knowledge", knowledge_base_id: base, top_k: 1, name: "look" }];
  const body = await run(
    [{ id: "llm-0", type: "llm", config: { ...model, prompt: "Which hat?", tools } }],
    ["llm-0>out-0"],
  );
  expect(heard()).toContain("[2] hats.txt");
  expect(heard()).toContain("Nothing was found.");
  expect(body.citations).toMatchObject([{ index: 2, resource_id: hats, node_id: "llm-0" }]);
});
