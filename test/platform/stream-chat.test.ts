import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChatRequest } from "../../src/domain/models/chat.ts";
import { fetchAdapter } from "../../src/platform/fetch/fetch-adapter.ts";
import { createGuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { streamChat } from "../../src/platform/models/stream-chat.ts";
import type { ChatEndpoint } from "../../src/platform/models/stream-chat.ts";
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
      { text: ["Go"], cut: true },
      { failure: expect.stringMatching(/^model_(stream_broken|unavailable)$/), retryable: true },
    ],
    [
      "what is no JSON",
      { raw: "data: {nonsense\n\n" },
      { failure: expect.stringMatching(/^model_(answer_invalid|unavailable)$/), retryable: true },
    ],
    [
      "an end without a reason",
      { raw: "\n" },
      { failure: expect.stringMatching(/^model_(stream_broken|answer_invalid)$/), retryable: true },
    ],
  ];
  it.each(FAILURES)("tells of %s", async (_name, reply, expected) => {
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
