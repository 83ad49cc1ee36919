import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChatRequest } from "../../src/domain/models/chat.ts";
import { fetchAdapter } from "../../src/platform/fetch/fetch-adapter.ts";
import { createGuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { streamChat } from "../../src/platform/models/stream-chat.ts";
import type { ChatEndpoint } from "../../src/platform/models/chat-request.ts";
import { COUNTED, startModelStub, type StubReply, type ModelStub } from "../../src/dev/model-stub.ts";

let server: ModelStub;
const guarded = createGuardedFetch({ allow: ["loopback"] });
const fetch = fetchAdapter(guarded);
beforeAll(async () => {
  server = await startModelStub();
});
afterAll(() => Promise.all([server.close(), guarded.close()]));

const ASKED: ChatRequest = { model: "tiny", messages: [{ role: "user", content: "Hello?" }] };

function endpoint(protocol: ChatEndpoint["protocol"]): ChatEndpoint {
  const headers: Record<string, string> =
    protocol === "openai" ? { authorization: "Bearer key" } : { "x-api-key": "key" };
  return { protocol, base_url: `${server.url}/v1`, headers };
}

async function ask(protocol: ChatEndpoint["protocol"], reply: StubReply, request = ASKED, silenceMs = 5000) {
  server.next(reply);
  const pieces: string[] = [];
  const { signal } = new AbortController();
  const onText = (text: string): void => void pieces.push(text);
  try {
    return { answer: await streamChat(fetch, endpoint(protocol), request, { signal, silenceMs, onText }), pieces };
  } catch (error) {
    return {
      error: error as { failure?: string; retryable?: boolean; retry_after_ms?: number; message: string },
      pieces,
    };
  }
}

describe.each(["openai", "anthropic"] as const)("the protocol of %s", (protocol) => {
  it("streams text, and counts tokens", async () => {
    const { answer, pieces } = await ask(protocol, { text: ["Good ", "day"] });
    expect(pieces).toEqual(["Good ", "day"]);
    expect(answer).toEqual({
      text: "Good day",
      tool_calls: [],
      finish_reason: "stop",
      tokens: { input_tokens: COUNTED.input, output_tokens: COUNTED.output, cached_tokens: COUNTED.cached },
    });
    expect(server.calls.at(-1)?.headers).toMatchObject(endpoint(protocol).headers);
  });

  it("reads tool calls and sends their results", async () => {
    const tools = [
      { id: "call_1", name: "weather", input: { city: "Bern" } },
      { id: "call_2", name: "weather", input: { city: "Chur" } },
    ];
    const described = [{ name: "weather", description: "The weather", input_schema: { type: "object" } }];
    const { answer } = await ask(protocol, { tools }, { ...ASKED, tools: described });
    expect(answer?.finish_reason).toBe("tool_calls");
    const calls = tools.map(({ id, name, input }) => ({ call_id: id, name, input }));
    expect(answer?.tool_calls).toEqual(calls);
    const results = calls.map(({ call_id, name }) => ({
      role: "tool" as const,
      call_id,
      name,
      output: { celsius: 3 },
    }));
    const { answer: last } = await ask(
      protocol,
      { text: ["Cold."] },
      {
        ...ASKED,
        tools: described,
        messages: [...ASKED.messages, { role: "assistant", content: "", tool_calls: calls }, ...results],
      },
    );
    expect(last?.text).toBe("Cold.");
    expect(JSON.stringify(server.calls.at(-1)?.body.messages).match(/celsius/g)).toHaveLength(2);
  });

  it("reads the response of an endpoint that does not stream, and keeps all digits in tool calls", async () => {
    const { answer, pieces } = await ask(protocol, { text: ["Good ", "day"], whole: true });
    expect(pieces).toEqual(["Good day"]);
    const tokens = { input_tokens: COUNTED.input, output_tokens: COUNTED.output, cached_tokens: COUNTED.cached };
    expect(answer).toEqual({ text: "Good day", tool_calls: [], finish_reason: "stop", tokens });
    const input = '{"n":12345678901234567891}';
    const call = { openai: `{"id":"c","function":{"name":"t","arguments":${JSON.stringify(input)}}}` };
    const body =
      protocol === "openai"
        ? `{"choices":[{"message":{"tool_calls":[${call.openai}]},"finish_reason":"tool_calls"}]}`
        : `{"type":"message","content":[{"type":"tool_use","id":"c","name":"t","input":${input}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`;
    const { answer: calling } = await ask(protocol, { raw: `\n\n ${body}` });
    expect(calling?.tool_calls).toEqual([{ call_id: "c", name: "t", input: { n: "12345678901234567891" } }]);
    expect((await ask(protocol, { raw: body.slice(0, -1) })).error).toMatchObject({ failure: "model_answer_invalid" });
  });

  it.each([{}, { whole: true as const }])("gives each tool call a unique ID in the conversation, %o", async (how) => {
    const asked = { name: "t", input: {} };
    const tools = ["a", "a", "", "b", " "].map((id) => ({ ...asked, id }));
    const tool_calls = [{ ...asked, call_id: "b" }];
    const messages = [...ASKED.messages, { role: "assistant" as const, content: "", tool_calls }];
    const { answer } = await ask(protocol, { tools, ...how }, { ...ASKED, messages });
    const ids = answer?.tool_calls.map(({ call_id }) => call_id) ?? [];
    expect([ids.length, new Set([...ids, "b"]).size, ids[0]]).toEqual([5, 6, "a"]);
    expect(ids.every((id) => /^[a-zA-Z0-9_-]+$/.test(id))).toBe(true);
  });

  it.each(["", " \n"])("treats empty arguments (%j) as an empty object", async (input) => {
    const { answer } = await ask(protocol, { tools: [{ id: "a", name: "t", input }] });
    expect(answer?.tool_calls).toEqual([{ call_id: "a", name: "t", input: {} }]);
  });

  const REASONS = [
    ["max_tokens", "length"],
    ["MAX_TOKENS", "length"],
    ["model_length", "length"],
    ["model_context_window_exceeded", "length"],
    ["SAFETY", "content_filter"],
    ["constructor", "other"],
    ["pause_turn", null],
    ["error", null],
    ["insufficient_system_resource", null],
  ] as const;
  it.each(REASONS)("maps the finish reason %s of vendors and gateways", async (finish, expected) => {
    for (const how of [{}, { whole: true as const }]) {
      const { answer, error } = await ask(protocol, { text: ["a"], finish, ...how });
      if (expected === null) expect(error).toMatchObject({ failure: "model_stream_broken", retryable: true });
      else expect(answer?.finish_reason).toBe(expected);
    }
  });

  const FAILURES: ReadonlyArray<[string, StubReply, object]> = [
    [
      "429",
      { status: 429, headers: { "retry-after": "7" } },
      { failure: "model_rate_limited", retryable: true, retry_after_ms: 7000 },
    ],
    ["529", { status: 529 }, { failure: "model_rate_limited", retryable: true }],
    ["500", { status: 500 }, { failure: "model_unavailable", retryable: true }],
    ["401", { status: 401 }, { failure: "model_refused", retryable: false }],
    [
      "a context that is too long",
      { status: 400, error: "This exceeds the maximum context length" },
      { failure: "context_too_long", retryable: false },
    ],
    [
      "a stream that is cut",
      { text: ["Go"], cut: true, pauseMs: 100 },
      { failure: "model_stream_broken", retryable: true },
    ],
    [
      "what is no JSON",
      { raw: "data: {nonsense\n\n" },
      { failure: expect.stringMatching(/^model_(answer_invalid|unavailable)$/), retryable: true },
    ],
    ["an end without a reason", { raw: "\n" }, { failure: "model_stream_broken", retryable: true }],
  ];
  it.each(FAILURES)("reports an error for %s", async (_name, reply, expected) => {
    expect((await ask(protocol, reply)).error).toMatchObject(expected);
  });

  it("ends a call without progress, and closes its connection", async () => {
    const { error } = await ask(protocol, { text: ["a", "b"], pauseMs: 400 }, ASKED, 150);
    expect(error).toMatchObject({ failure: "model_timeout", retryable: true });
    await expect.poll(() => server.calls.at(-1)?.aborted).toBe(true);
  });

  it("reports that an answer was cut short or refused", async () => {
    expect((await ask(protocol, { text: ["Lo"], finish: "length" })).answer?.finish_reason).toBe("length");
    expect((await ask(protocol, { text: [], finish: "refusal" })).answer?.finish_reason).toBe("content_filter");
  });
});

describe("the parameters of a model request", () => {
  const strict = {
    type: "object",
    properties: { city: { type: "string", description: "Where" }, list: { type: "array", items: { type: "integer" } } },
    required: ["city", "list"],
  };
  const bodies = (from: number) => server.calls.slice(from).map(({ body }) => body);
  const text = ['{"city":"Bern","list":[]}'];

  it("have a strict schema only if strict mode changes nothing in its meaning", async () => {
    const from = server.calls.length;
    await ask("openai", { text }, { ...ASKED, schema: strict });
    const loose = { ...strict, required: ["city"] };
    await ask("openai", { text }, { ...ASKED, schema: loose });
    expect(bodies(from).map(({ response_format }) => response_format.json_schema)).toMatchObject([
      { strict: true, schema: { ...strict, additionalProperties: false } },
      { strict: false, schema: loose },
    ]);
    expect(bodies(from)[1].response_format.json_schema.schema).not.toHaveProperty("additionalProperties");
  });

  it("have a fallback for an endpoint that rejects schemas, and for no other", async () => {
    const from = server.calls.length;
    server.next({ status: 400, error: "Invalid schema for response_format" });
    server.next({ status: 400, error: "response_format json_schema is not supported" });
    const { answer } = await ask("openai", { text }, { ...ASKED, schema: strict });
    expect(answer?.text).toBe(text[0]);
    const [first, second, third] = bodies(from);
    expect([first.response_format.json_schema.strict, second.response_format.json_schema.strict]).toEqual([
      true,
      false,
    ]);
    expect(third).not.toHaveProperty("response_format");
    expect(third.messages[0]).toMatchObject({ role: "system", content: expect.stringContaining('"city"') });
    const before = server.calls.length;
    const { error } = await ask("openai", { status: 400, error: "You have no money" }, { ...ASKED, schema: strict });
    expect([error?.failure, server.calls.length - before]).toEqual(["model_refused", 1]);
    await ask("openai", { status: 500, error: "the schema service is away" }, { ...ASKED, schema: strict });
    expect(server.calls.length - before).toBe(2);
  });

  it("have max_completion_tokens for models that require it, by name or after their error", async () => {
    const from = server.calls.length;
    await ask("openai", { text: ["a"] }, { ...ASKED, model: "o3-mini", max_tokens: 7 });
    await ask("openai", { text: ["a"] }, { ...ASKED, max_tokens: 8 });
    server.next({ status: 400, error: "Unsupported parameter: use 'max_completion_tokens' instead." });
    await ask("openai", { text: ["a"] }, { ...ASKED, max_tokens: 9 });
    expect(bodies(from).map((body) => [body.max_tokens, body.max_completion_tokens])).toEqual([
      [undefined, 7],
      [8, undefined],
      [9, undefined],
      [undefined, 9],
    ]);
  });

  it("have the node's settings in the names of each protocol, and extra_body cannot replace model or messages", async () => {
    const tools = [{ name: "weather", description: "The weather", input_schema: { type: "object" } }];
    const asked: ChatRequest = {
      ...ASKED,
      top_p: 0.5,
      stop: ["END"],
      seed: 4,
      reasoning_effort: "low",
      tools,
      tool_choice: { tool: "weather" },
      extra_body: { service_tier: "flex", model: "another", messages: [] },
    };
    await ask("openai", { text: ["a"] }, asked);
    expect(server.calls.at(-1)?.body).toMatchObject({
      model: "tiny",
      messages: [{ role: "user" }],
      top_p: 0.5,
      stop: ["END"],
      seed: 4,
      reasoning_effort: "low",
      tool_choice: { type: "function", function: { name: "weather" } },
      service_tier: "flex",
    });
    await ask("anthropic", { text: ["a"] }, asked);
    expect(server.calls.at(-1)?.body).toMatchObject({
      model: "tiny",
      stop_sequences: ["END"],
      tool_choice: { type: "tool", name: "weather" },
      service_tier: "flex",
    });
  });
});

it("does not turn empty arguments of a cut answer into an object, and ignores calls of a stream without an end", async () => {
  const tools = ["a", "b"].map((id) => ({ id, name: "t", input: "" }));
  const { answer } = await ask("openai", { tools, finish: "length" });
  expect(answer?.tool_calls.map(({ input }) => input)).toEqual(["", ""]);
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = {
    id: "m",
    type: "message",
    role: "assistant",
    model: "tiny",
    content: [],
    stop_reason: null,
    usage,
  };
  const block = { type: "tool_use", id: "a", name: "t", input: {} };
  const events = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_stop", index: 0 },
    { type: "message_stop" },
  ];
  const raw = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  expect((await ask("anthropic", { raw })).error).toMatchObject({ failure: "model_stream_broken" });
});
