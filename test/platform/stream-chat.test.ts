import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChatRequest } from "../../src/domain/models/chat.ts";
import { fetchAdapter } from "../../src/platform/fetch/fetch-adapter.ts";
import { createGuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { streamChat } from "../../src/platform/models/stream-chat.ts";
import type { ChatEndpoint } from "../../src/platform/models/chat-request.ts";
import { COUNTED, startModelStub } from "../../src/dev/model-stub.ts";
import type { StubReply, ModelStub } from "../../src/dev/model-stub.ts";

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
  it("streams a text, and counts tokens", async () => {
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

  it("reads calls of tools and gives their results back", async () => {
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
  it.each(FAILURES)("reports %s", async (_name, reply, expected) => {
    expect((await ask(protocol, reply)).error).toMatchObject(expected);
  });

  it("ends a call that has gone silent, and closes it", async () => {
    const { error } = await ask(protocol, { text: ["a", "b"], pauseMs: 400 }, ASKED, 150);
    expect(error).toMatchObject({ failure: "model_timeout", retryable: true });
    await expect.poll(() => server.calls.at(-1)?.aborted).toBe(true);
  });

  it("tells that an answer was cut short or refused", async () => {
    expect((await ask(protocol, { text: ["Lo"], finish: "length" })).answer?.finish_reason).toBe("length");
    expect((await ask(protocol, { text: [], finish: "refusal" })).answer?.finish_reason).toBe("content_filter");
  });
});

describe("what a request says beside its question", () => {
  const strict = {
    type: "object",
    properties: { city: { type: "string", description: "Where" }, list: { type: "array", items: { type: "integer" } } },
    required: ["city", "list"],
  };
  const bodies = (from: number) => server.calls.slice(from).map(({ body }) => body);
  const text = ['{"city":"Bern","list":[]}'];

  it("is a strict schema where strict mode asks for the same, and the schema as it is otherwise", async () => {
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

  it("is said in another way to an endpoint that refuses schemas, and to no other", async () => {
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

  it("is max_completion_tokens for models that want it so, by name or by their word", async () => {
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

  it("has the settings of the node, in the words of each protocol, and nothing that would change what is asked", async () => {
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
