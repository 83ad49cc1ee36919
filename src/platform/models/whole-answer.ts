import type { LanguageModelV3Content, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { exactJsonText } from "../../domain/exact-json.ts";
import type { ChatRequest } from "../../domain/models/chat.ts";
import { callOptions, openModel, type ChatEndpoint, type RequestForm } from "./chat-request.ts";

/** The parts of a response as they arrive; a whole response yields all of them together. */
export interface OpenAnswer {
  readonly parts: AsyncIterable<LanguageModelV3StreamPart> | Iterable<LanguageModelV3StreamPart>;
  readonly isWhole: boolean;
}

/** Thrown instead of returning a stream, because the SDK reads either a stream or a whole response. */
class WholeAnswer extends Error {
  readonly body: string;

  constructor(body: string) {
    super("the endpoint does not stream");
    this.body = body;
  }
}

/** Asks for a stream. Some endpoints ignore `stream: true` and return one JSON object, which is read as a whole. */
export async function openAnswer(
  fetch: typeof globalThis.fetch,
  endpoint: ChatEndpoint,
  { request, form }: { readonly request: ChatRequest; readonly form: RequestForm },
  signal: AbortSignal,
): Promise<OpenAnswer> {
  const options = callOptions(endpoint, request, form, signal);
  try {
    const { stream } = await openModel(noticeWhole(fetch), endpoint, request, form).doStream(options);
    return { parts: stream, isWhole: false };
  } catch (error) {
    if (!(error instanceof WholeAnswer)) throw error;
    // The SDK would round long integers in tool arguments.
    const body = exactJsonText(error.body);
    const model = openModel(async () => new Response(body), endpoint, request, form);
    const { content, finishReason, usage } = await model.doGenerate(options);
    return { parts: [...content.flatMap(asPart), { type: "finish", finishReason, usage }], isWhole: true };
  }
}

/** Decided by the first character, because endpoints do not agree on content types. An event never begins with a brace. */
function noticeWhole(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!response.ok || response.body === null) return response;
    const [probe, body] = response.body.tee();
    const first = await firstCharacter(probe);
    const same = new Response(body, response);
    if (first === "{") throw new WholeAnswer(await same.text());
    return same;
  };
}

async function firstCharacter(probe: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const reader = probe.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let done = false; text === "" && !done;) {
    const chunk = await reader.read();
    text = decoder.decode(chunk.value, { stream: !chunk.done }).trimStart();
    ({ done } = chunk);
  }
  // Not awaited, because it ends only when the other half of the stream does.
  void reader.cancel().catch(() => undefined);
  return text[0];
}

function asPart(content: LanguageModelV3Content): LanguageModelV3StreamPart[] {
  if (content.type === "text") return [{ type: "text-delta", id: "whole", delta: content.text }];
  return content.type === "tool-call" ? [content] : [];
}
