import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { COUNTED, startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { flow } from "./support.ts";

let server: ModelStub;
let mine: ApiTenant;
const connections = new Map<string, string>();
beforeAll(async () => {
  server = await startModelStub();
  mine = await openTenant();
  const credentials = { openai_compatible: `${server.url}/v1`, anthropic: server.url };
  for (const [provider_id, base_url] of Object.entries(credentials)) {
    const { body } = await mine.secret.post("/v2/connections", {
      name: provider_id,
      provider_id,
      scheme: "api_key",
      credential: { api_key: "sk-planted", base_url },
    });
    connections.set(provider_id, body.connection_id);
  }
});
afterAll(() => server.close());

async function ask(config: Record<string, unknown>, text: string, more: Record<string, unknown> = {}) {
  const nodes = [
    { id: "in-0", type: "input" },
    {
      id: "llm-0",
      type: "llm",
      config: { model: "tiny", connection_id: connections.get("openai_compatible"), prompt: "{{in-0}}", ...config },
      retry: { max_attempts: 2, initial_interval_ms: 10 },
      ...more,
    },
    { id: "out-0", type: "output" },
  ];
  const project = await mine.deploy(flow(nodes, ["in-0>llm-0", "llm-0>out-0"]));
  return mine.public.post(`/inference/v0/run/${mine.org_id}/${project}`, { "in-0": text });
}

async function nodeOf(runId: string) {
  const { body } = await mine.secret.get(`/v2/runs/${runId}`, { query: { expand: "nodes" } });
  return body.nodes.find((each: { node_id: string }) => each.node_id === "llm-0");
}

it("a router takes the route that the model names, or else if it names none", async () => {
  const routes = ["a", "b"].map((id) => ({ id, description: `What is ${id}` }));
  const connection_id = connections.get("anthropic");
  const nodes = [
    { id: "in-0", type: "input" },
    { id: "router-0", type: "router", config: { model: "tiny", connection_id, prompt: "{{in-0}}", routes } },
    ...["a", "b", "none"].map((id) => ({ id, type: "template", config: { template: id } })),
    { id: "out-0", type: "output" },
  ];
  const ways = ["router-0:case:a>a", "router-0:case:b>b", "router-0:else>none", "a>out-0", "b>out-0", "none>out-0"];
  const project = await mine.deploy(flow(nodes, ["in-0>router-0", ...ways]));
  const answers = ['{"route": "b"}', '```json\n{"route":"a"}\n```', "b", '{"route": "elsewhere"}', "I cannot say."];
  const taken = [];
  for (const answer of answers) {
    server.next({ text: [answer] });
    const { body } = await mine.public.post(`/inference/v0/run/${mine.org_id}/${project}`, { "in-0": "Which?" });
    taken.push([body.outputs["out-0"], body.metadata.usage.total_tokens]);
  }
  expect(taken.map(([way]) => way)).toEqual(["b", "a", "b", "none", "none"]);
  expect(taken[0]?.[1]).toBe(COUNTED.input + COUNTED.output);
  expect(JSON.stringify(server.calls.at(-1)?.body)).toContain("What is b");
});

const WAYS = ["openai_compatible", "anthropic"].flatMap((provider) =>
  [{}, { whole: true as const }].map((how) => [provider, how] as const),
);
it.each(WAYS)(
  "a truncated answer is not accepted where a complete one is required, over %s %o",
  async (provider, how) => {
    const connection_id = connections.get(provider);
    const routes = ["ref", "refund"].map((id) => ({ id, description: `What is ${id}` }));
    const nodes = [
      { id: "in-0", type: "input" },
      { id: "router-0", type: "router", config: { model: "tiny", connection_id, prompt: "{{in-0}}", routes } },
      { id: "out-0", type: "output" },
    ];
    const project = await mine.deploy(flow(nodes, ["in-0>router-0", "router-0:case:ref>out-0"]));
    const whole = { max_tokens: 5, fallback_models: ["other"] };
    const cut = [
      [{ ...whole, schema: { type: "integer" } }, "12"],
      [{ ...whole, schema: { type: "object" } }, '{"n": 1'],
      [{ ...whole, schema: { type: "object" } }, '{"n": 1}'],
      [{ ...whole, schema: { type: "object" } }, ""],
    ] as const;
    for (const [config, text] of cut) {
      const before = server.calls.length;
      server.next({ status: 503 }, { text: [text], finish: "length", ...how });
      const { status, body } = await ask({ connection_id, ...config }, "How many?");
      expect([status, body.error.code, server.calls.length - before]).toEqual([502, "model_answer_cut", 2]);
      expect(body.error.message).toContain("model other was cut off at its length limit (max_tokens is 5)");
    }
    server.next({ text: ["ref"], finish: "length", ...how });
    const routed = await mine.public.post(`/inference/v0/run/${mine.org_id}/${project}`, { "in-0": "Which?" });
    expect([routed.status, routed.body.error.code]).toEqual([502, "model_answer_cut"]);
    expect(routed.body.error.message).toContain("set the node's max_tokens");
    server.next({ text: ["ref"], finish: "refusal", ...how });
    const declined = await mine.public.post(`/inference/v0/run/${mine.org_id}/${project}`, { "in-0": "Which?" });
    expect(declined.body.error.code).toBe("model_declined");
  },
);

describe("an llm node", () => {
  it.each(["openai_compatible", "anthropic"])(
    "returns the model's text, through a connection of %s",
    async (provider) => {
      const connection_id = connections.get(provider);
      const { status, body } = await ask({ connection_id, system: "Be brief.", temperature: 0 }, "Hello {{7*7}}");
      expect([status, body.outputs]).toEqual([200, { "out-0": "[model-stub: no model, an echo] Hello {{7*7}}" }]);
      const { output } = await nodeOf(body.run_id);
      const total = COUNTED.input + COUNTED.output;
      expect(output.usage).toMatchObject({ input_tokens: COUNTED.input, total_tokens: total, estimated: false });
      expect(JSON.stringify(server.calls.at(-1)?.body)).toContain("Be brief.");
    },
  );

  it("returns JSON that matches the schema, after at most one repair", async () => {
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    server.next({ text: ['{"n": "four"}'] }, { text: ['```json\n{"n": 4}\n```'] });
    const { status, body } = await ask({ schema }, "Two and two?");
    expect([status, body.outputs]).toEqual([200, { "out-0": { n: 4 } }]);
    expect(server.calls.at(-1)?.body.messages.at(-1).content).toContain("n:");
    server.next(...Array.from({ length: 4 }, () => ({ text: ["four"] })));
    const failed = await ask({ schema }, "Two and two?");
    expect([failed.status, failed.body.error.code]).toEqual([502, "model_answer_invalid"]);
  });

  it("keeps every digit of a long integer in its JSON as text, which does not match an integer schema", async () => {
    const answer = '{"id": 12345678901234567891, "n": 4}';
    server.next({ text: [answer] });
    const { status, body } = await ask({ schema: { type: "object" } }, "Which order?");
    expect([status, body.outputs]).toEqual([200, { "out-0": { id: "12345678901234567891", n: 4 } }]);
    server.next(...Array.from({ length: 4 }, () => ({ text: [answer] })));
    const schema = { type: "object", properties: { id: { type: "integer" } } };
    const failed = await ask({ schema }, "Which order?");
    expect([failed.status, failed.body.error.code]).toEqual([502, "model_answer_invalid"]);
    expect(failed.body.error.message).toContain("id:");
  });

  it("deep-json: repairs an answer that is nested too deeply", async () => {
    const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
    server.next({ text: [deep] }, { text: ['{"a": 1}'] });
    const { status, body } = await ask({ schema: { type: "object" } }, "Deep?");
    expect([status, body.outputs]).toEqual([200, { "out-0": { a: 1 } }]);
    expect(server.calls.at(-1)?.body.messages.at(-1).content).toContain("deeper than 100 levels");
  });

  it("sends the fields of its schema in the order written, also for another version", async () => {
    const propertiesOf = (names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const flowOf = (names: readonly string[]) => {
      const schema = { type: "object", properties: propertiesOf(names), required: names };
      const config = { model: "tiny", connection_id: connections.get("openai_compatible"), prompt: "{{in-0}}", schema };
      const nodes = [
        { id: "in-0", type: "input" },
        { id: "llm-0", type: "llm", config },
        { id: "out-0", type: "output" },
      ];
      return flow(nodes, ["in-0>llm-0", "llm-0>out-0"]);
    };
    const [first, second] = [
      ["reasoning", "answer"],
      ["answer", "reasoning"],
    ] as const;
    const project = await mine.deploy(flowOf(first));
    for (const [index, names] of [first, second].entries()) {
      const path = `/v2/projects/${project}/versions`;
      expect((await mine.secret.post(path, { flow: flowOf(names) })).body.version).toBe(index + 1);
      const stored = (await mine.secret.get(`${path}/${index + 1}`)).body.flow.nodes[1].config.schema;
      expect(Object.keys(stored.properties)).toEqual(names);
      server.next({ text: ['{"reasoning": "r", "answer": "a"}'] });
      await mine.public.post(`/inference/v0/run/${mine.org_id}/${project}`, { "in-0": "Why?" });
      const asked = JSON.stringify(server.calls.at(-1)?.body).replaceAll("\\", "");
      expect(asked.indexOf(`"${names[0]}":{`)).toBeLessThan(asked.indexOf(`"${names[1]}":{`));
    }
  });

  it("retries if the endpoint is busy, then uses a fallback model", async () => {
    server.next({ status: 429, headers: { "retry-after": "0" } }, { text: ["at last"] });
    expect((await ask({}, "x")).body.outputs).toEqual({ "out-0": "at last" });
    server.next({ status: 503 }, { text: ["from another"] });
    expect((await ask({ fallback_models: ["other"] }, "x")).body.outputs).toEqual({ "out-0": "from another" });
    expect(server.calls.at(-1)?.body.model).toBe("other");
  });

  it("reports the error without the key", async () => {
    server.next({ status: 401, error: "Incorrect API key provided: sk-planted" });
    const { status, body } = await ask({}, "x");
    expect([status, body.error.code]).toEqual([502, "model_refused"]);
    expect(JSON.stringify(body)).not.toContain("sk-planted");
    const none = await ask({ connection_id: undefined, model: undefined }, "x");
    expect([none.status, none.body.error.code]).toEqual([500, "model_not_configured"]);
    expect(none.body.error.message).toContain("MILLRACE_MODEL_URL");
  });

  it.each(["openai_compatible", "anthropic"])("does not accept an empty answer, over %s", async (provider) => {
    const config = { connection_id: connections.get(provider) };
    server.next({ text: [] }, { text: ["on second thought"] });
    const { body: run } = await ask(config, "x");
    expect(run.outputs).toEqual({ "out-0": "on second thought" });
    // Tokens of both calls are counted.
    expect(run.metadata.usage.total_tokens).toBe(2 * (COUNTED.input + COUNTED.output));
    const refusals = [
      [[{ text: [" "] }, { text: [] }], "model_answer_empty"],
      [[{ text: [], finish: "length" }], "model_answer_empty"],
      [[{ text: [], finish: "refusal" }], "model_declined"],
    ] as const;
    for (const [replies, code] of refusals) {
      const before = server.calls.length;
      server.next(...replies);
      const { status, body } = await ask(config, "x");
      expect([status, body.error.code]).toEqual([502, code]);
      expect(server.calls.length - before).toBe(replies.length);
    }
    server.next({ text: ["As far as"], finish: "length" });
    const cut = await ask(config, "x");
    expect(cut.body.outputs).toEqual({ "out-0": "As far as" });
    expect((await nodeOf(cut.body.run_id)).output.finish_reason).toBe("length");
  });

  it("closes the model request when the run is cancelled", async () => {
    server.next({ text: ["a", "b"], pauseMs: 60_000 });
    const before = server.calls.length;
    const project = await mine.deploy(
      flow(
        [
          {
            id: "llm-0",
            type: "llm",
            config: { model: "m", connection_id: connections.get("openai_compatible"), prompt: "x" },
          },
          { id: "out-0", type: "output" },
        ],
        ["llm-0>out-0"],
      ),
    );
    const { body: run } = await mine.secret.post("/v2/runs", { project_id: project, inputs: {} });
    await expect.poll(() => server.calls.length).toBe(before + 1);
    await mine.secret.post(`/v2/runs/${run.run_id}/cancel`, {});
    await expect.poll(() => server.calls.at(-1)?.aborted).toBe(true);
  });
});
