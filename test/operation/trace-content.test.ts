import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { create, index, KEYWORDS } from "../api/knowledge/bases.ts";
import { openTenant } from "../api/tenant.ts";
import { subscribe } from "../api/webhooks/webhooks.ts";
import { flow, openBench, type Bench } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from "../support/otlp-receiver.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";

const CANARY = "canary-1147-of-a-user";
const MASKED = "canary-2258-that-is-redacted";
/** Longest text in a span. */
const MAX_TEXT = 4096;

let receiver: OtlpReceiver;
let service: OwnService;
let target: HttpTarget;
let stub: ModelStub;
let bench: Bench;
let model: Record<string, unknown>;
beforeAll(async () => {
  [receiver, target, stub] = await Promise.all([startOtlpReceiver(), startHttpTarget(), startModelStub()]);
  service = await startService({ env: { MILLRACE_OTLP_ENDPOINT: receiver.url, MILLRACE_TRACE_CONTENT: "true" } });
  bench = await openBench(service);
  const { body } = await bench.api.post("/v2/connections", {
    name: "models",
    provider_id: "openai_compatible",
    scheme: "api_key",
    credential: { api_key: "sk-planted", base_url: `${stub.url}/v1` },
  });
  model = { model: "gpt-test", connection_id: body.connection_id };
});
afterAll(async () => {
  await service?.close();
  await Promise.all([receiver?.close(), target?.close(), stub?.close()]);
});

const input = { id: "in-0", type: "input" };
const output = { id: "out-0", type: "output" };

/** A flow that sends its input to a model. */
function asking(config: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const llm = { id: "llm-0", type: "llm", config: { ...model, prompt: "{{in-0}}", ...config } };
  return flow([input, llm, output], ["in-0>llm-0", "llm-0>out-0"], more);
}

const runSpan = (run_id: string): Promise<ReceivedSpan> =>
  receiver.find(`run ${run_id}`, (span) => span.name === "run" && span.attributes["millrace.run.id"] === run_id);

/** The model calls in a run's trace, in order. */
async function chatsOf(run_id: string, count: number): Promise<ReceivedSpan[]> {
  const { trace_id } = await runSpan(run_id);
  return eventually(`${count} calls of a model`, () => {
    const found = receiver.spans.filter((span) => span.trace_id === trace_id && span.name === "chat gpt-test");
    return found.length === count && found.toSorted((one, other) => one.start_ms - other.start_ms);
  });
}

const messagesOf = (span: ReceivedSpan | undefined, which: "input" | "output") =>
  JSON.parse(String(span?.attributes[`gen_ai.${which}.messages`]));
const text = (content: string) => ({ type: "text", content });

describe("MILLRACE_TRACE_CONTENT", () => {
  it("adds the messages of model calls as OpenTelemetry attributes, without anything that looks secret", async () => {
    stub.next(
      { tools: [{ id: "call_0", name: "look", input: { query: CANARY } }] },
      { text: ["It is ", "mr_sk_0123456789abcdef"] },
    );
    const base = { name: "test", indexing_params: KEYWORDS };
    const { knowledge_base_id } = (await bench.api.post("/v2/knowledge-bases", base)).body;
    const tools = [{ type: "knowledge", knowledge_base_id, name: "look" }];
    const { run_id } = await bench.run(asking({ system: "Be brief.", tools }), { "in-0": CANARY });

    const [first, second] = await chatsOf(run_id, 2);
    const question = [
      { role: "system", parts: [text(expect.stringContaining("Be brief.") as string)] },
      { role: "user", parts: [text(CANARY)] },
    ];
    const call = { type: "tool_call", id: "call_0", name: "look", arguments: JSON.stringify({ query: CANARY }) };
    expect(messagesOf(first, "input")).toEqual(question);
    expect(messagesOf(first, "output")).toEqual([{ role: "assistant", parts: [call], finish_reason: "tool_calls" }]);
    const answered = { type: "tool_call_response", id: "call_0", response: expect.any(String) };
    expect(messagesOf(second, "input")).toEqual([
      ...question,
      { role: "assistant", parts: [call] },
      { role: "tool", parts: [answered] },
    ]);
    const parts = [text("It is mr_sk_[redacted]")];
    expect(messagesOf(second, "output")).toEqual([{ role: "assistant", parts, finish_reason: "stop" }]);
  });

  it("truncates long texts", async () => {
    stub.next({ text: ["z".repeat(3 * MAX_TEXT)] });
    const { run_id } = await bench.run(asking({}), { "in-0": "y".repeat(100_000) });
    const [chat] = await chatsOf(run_id, 1);
    expect(messagesOf(chat, "input")[0].parts).toEqual([text(`${"y".repeat(MAX_TEXT)}…`)]);
    expect(messagesOf(chat, "output")[0].parts).toEqual([text(`${"z".repeat(MAX_TEXT)}…`)]);
  });

  it("exports no messages of a flow that redacts fields", async () => {
    stub.next({ text: ["As you say: ", MASKED] });
    const { run_id } = await bench.run(asking({}, { settings: { redact: ["$.inputs.in-0"] } }), { "in-0": MASKED });
    const [chat] = await chatsOf(run_id, 1);
    expect(chat?.attributes).toMatchObject({ "gen_ai.usage.output_tokens": expect.any(Number) });
    expect(Object.keys(chat?.attributes ?? {}).filter((name) => name.includes("messages"))).toEqual([]);
    expect(receiver.bytes().includes(MASKED)).toBe(false);
    expect(receiver.bytes().includes(CANARY)).toBe(true);
  });
});

describe("spans outside model calls", () => {
  it("a knowledge base search is a retrieval span without query or results", async () => {
    const tenant = await openTenant(service);
    const knowledge_base_id = (await create(tenant)).body.knowledge_base_id as string;
    await index(tenant, knowledge_base_id, ["Gloves are verdant-3369 in winter."], {});
    const kb = { id: "kb-0", type: "knowledge", config: { knowledge_base_id, query: "{{in-0}}", top_k: 1 } };
    const definition = flow([input, kb, output], ["in-0>kb-0", "kb-0>out-0"]);
    const project_id = await tenant.deploy(definition);
    const inputs = { "in-0": "gloves-4470" };
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id, inputs });
    await tenant.until(run.run_id, "COMPLETED");

    const span = await runSpan(run.run_id);
    const retrieval = await receiver.find(
      "the search",
      ({ trace_id, name }) => trace_id === span.trace_id && name === "retrieval kb-0",
    );
    expect(retrieval).toMatchObject({
      parent_id: span.span_id,
      attributes: { "gen_ai.operation.name": "retrieval", "millrace.node.type": "knowledge" },
    });
    for (const word of ["verdant-3369", "gloves-4470"]) expect(receiver.bytes().includes(word)).toBe(false);
  });

  it("a webhook delivery is a request span below its run, and the receiver can continue the trace", async () => {
    await subscribe(bench.api, { url: `${target.url}/hook`, events: ["run.completed"] });
    const run = await bench.run(flow([input, output], ["in-0>out-0"]), { "in-0": "x" });
    const got = await eventually("the delivery", () =>
      target.requests.find(({ path, body }) => path === "/hook" && body.includes(run.run_id)),
    );
    const span = await runSpan(run.run_id);
    const delivery = await receiver.find(
      "the delivery",
      ({ parent_id, name }) => parent_id === span.span_id && name === "POST",
    );
    expect(delivery).toMatchObject({
      trace_id: span.trace_id,
      attributes: { "http.response.status_code": 200, "server.address": "127.0.0.1", "server.port": target.port },
    });
    expect(got.headers["traceparent"]).toBe(`00-${span.trace_id}-${delivery.span_id}-01`);
  });
});
