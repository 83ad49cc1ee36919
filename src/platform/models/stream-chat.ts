import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError } from "@ai-sdk/provider";
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3FinishReason,
  LanguageModelV3Message,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from "@ai-sdk/provider";
import type { Json } from "../../domain/json.ts";
import type {
  ChatAnswer,
  ChatImage,
  ChatMessage,
  ChatRequest,
  FinishReason,
  ToolCall,
} from "../../domain/models/chat.ts";
import { retryAfterMs } from "../../domain/retry-after.ts";
import { FetchFailed, FetchRefused } from "../fetch/guarded-fetch-errors.ts";

/** Where a model is, and how it is spoken to. */
export interface ChatEndpoint {
  readonly protocol: "openai" | "anthropic";
  /** Up to the version, without a slash at the end. */
  readonly base_url: string;
  /** What authenticates a request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
}

export const CHAT_FAILURES = [
  "model_refused",
  "model_unavailable",
  "model_rate_limited",
  "model_stream_broken",
  "model_answer_invalid",
  "context_too_long",
  "model_timeout",
] as const;
/** Why a call brought no whole answer. */
export type ChatFailure = (typeof CHAT_FAILURES)[number];

/** Thrown where a model did not answer. The message names the endpoint's host and may quote it: secrets are masked by the caller. */
export class ChatError extends Error {
  readonly failure: ChatFailure;
  readonly retryable: boolean;
  /** Status of the endpoint's answer, where there was one. */
  readonly status: number | null;
  /** What the endpoint asked to wait (ms). */
  readonly retry_after_ms: number | undefined;

  constructor(
    failure: ChatFailure,
    message: string,
    options: { retryable: boolean; status?: number; retry_after_ms?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.name = "ChatError";
    this.failure = failure;
    this.retryable = options.retryable;
    this.status = options.status ?? null;
    this.retry_after_ms = options.retry_after_ms;
  }
}

export interface ChatOptions {
  readonly signal: AbortSignal;
  /** Longest silence of the endpoint, before the first token and between tokens (ms). */
  readonly silenceMs: number;
  /** Called with each piece of text as it comes. */
  readonly onText?: (text: string) => void;
}

/**
 * Asks a model once and reads its answer as it comes. Uses the protocol layer of the AI SDK only: its higher layer would repeat
 * calls, run tools and fetch images by itself, which are the work of the flow engine here. Throws ChatError, or the reason of the
 * signal; the request is closed then.
 */
export async function streamChat(
  fetch: typeof globalThis.fetch,
  endpoint: ChatEndpoint,
  request: ChatRequest,
  { signal, silenceMs, onText }: ChatOptions,
): Promise<ChatAnswer> {
  const { host } = new URL(endpoint.base_url);
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener("abort", onAbort, { once: true });
  const silence = setTimeout(() => {
    const message = `${host} has sent nothing for ${silenceMs} ms.`;
    stop.abort(new ChatError("model_timeout", message, { retryable: true }));
  }, silenceMs);
  try {
    const { stream } = await openModel(fetch, endpoint, request.model).doStream(callOptions(request, stop.signal));
    const answer = createAnswer();
    for await (const part of stream) {
      silence.refresh();
      if (part.type === "error") throw part.error;
      if (part.type === "text-delta") onText?.(part.delta);
      answer.add(part);
    }
    stop.signal.throwIfAborted();
    return answer.finished(host);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : toChatError(error, host);
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", onAbort);
    // Also after a fault of ours: an answer that nobody reads would be paid for.
    stop.abort();
  }
}

function openModel(fetch: typeof globalThis.fetch, endpoint: ChatEndpoint, model: string): LanguageModelV3 {
  const { protocol, base_url: baseURL, headers, query } = endpoint;
  if (protocol === "anthropic") {
    // The key of the SDK goes into the same header that `headers` sets, and loses.
    return createAnthropic({ baseURL, apiKey: headers["x-api-key"] ?? "none", headers: { ...headers }, fetch })(model);
  }
  return createOpenAICompatible({
    name: "model",
    baseURL,
    headers: { ...headers },
    ...(query === undefined ? {} : { queryParams: { ...query } }),
    fetch,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })(model);
}

function callOptions(request: ChatRequest, signal: AbortSignal): LanguageModelV3CallOptions {
  const { messages, temperature, max_tokens, schema, tools } = request;
  return {
    prompt: joinToolResults(messages.map(toPrompt)),
    abortSignal: signal,
    ...(temperature === undefined ? {} : { temperature }),
    ...(max_tokens === undefined ? {} : { maxOutputTokens: max_tokens }),
    ...(schema === undefined ? {} : { responseFormat: { type: "json", schema, name: "answer" } }),
    ...(tools === undefined || tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, input_schema }) => ({
            type: "function",
            name,
            description,
            inputSchema: input_schema,
          })),
        }),
  };
}

function toPrompt(message: ChatMessage): LanguageModelV3Message {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.content };
    case "user":
      return {
        role: "user",
        content: [{ type: "text", text: message.content }, ...(message.images ?? []).map(toImagePart)],
      };
    case "assistant":
      return {
        role: "assistant",
        content: [
          ...(message.content === "" ? [] : [{ type: "text" as const, text: message.content }]),
          ...(message.tool_calls ?? []).map(({ call_id, name, input }) => ({
            type: "tool-call" as const,
            toolCallId: call_id,
            toolName: name,
            input,
          })),
        ],
      };
    case "tool": {
      const { call_id, name, output, failed } = message;
      const value = failed ? { type: "error-json" as const, value: output } : { type: "json" as const, value: output };
      // JSON of ours and JSON of the SDK differ in `readonly` only.
      return {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: call_id, toolName: name, output: value }],
      } as LanguageModelV3Message;
    }
    default:
      return message satisfies never;
  }
}

/** Results of calls that were made side by side are one message in both protocols. */
function joinToolResults(messages: readonly LanguageModelV3Message[]): LanguageModelV3Message[] {
  const joined: LanguageModelV3Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role === "tool" && last?.role === "tool") last.content.push(...message.content);
    else joined.push(message);
  }
  return joined;
}

function toImagePart(image: ChatImage) {
  return "url" in image
    ? { type: "file" as const, data: new URL(image.url), mediaType: "image/*" }
    : { type: "file" as const, data: image.base64, mediaType: image.mime_type };
}

/** Collects the parts of a stream. */
function createAnswer() {
  let text = "";
  const toolCalls: ToolCall[] = [];
  let finish: { reason: LanguageModelV3FinishReason; usage: LanguageModelV3Usage } | undefined;
  return {
    add(part: LanguageModelV3StreamPart): void {
      if (part.type === "text-delta") text += part.delta;
      else if (part.type === "tool-call") {
        toolCalls.push({ call_id: part.toolCallId, name: part.toolName, input: parsed(part.input) });
      } else if (part.type === "finish") finish = { reason: part.finishReason, usage: part.usage };
    },
    finished(host: string): ChatAnswer {
      // The SDK ends a stream that was cut as if it had been whole, but without the endpoint's own reason.
      if (finish === undefined || (finish.reason.raw === undefined && toolCalls.length === 0)) {
        const message = `${host} ended its answer before it was whole.`;
        throw new ChatError("model_stream_broken", message, { retryable: true });
      }
      const { inputTokens, outputTokens } = finish.usage;
      return {
        text,
        tool_calls: toolCalls,
        finish_reason: FINISH_REASONS[finish.reason.unified],
        tokens: {
          input_tokens: inputTokens.total ?? null,
          output_tokens: outputTokens.total ?? null,
          cached_tokens: inputTokens.cacheRead ?? null,
        },
      };
    },
  };
}

const FINISH_REASONS: Readonly<Record<LanguageModelV3FinishReason["unified"], FinishReason>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  "tool-calls": "tool_calls",
  error: "error",
  other: "other",
};

function parsed(text: string): Json {
  try {
    return JSON.parse(text === "" ? "{}" : text) as Json;
  } catch {
    return text;
  }
}

const QUOTED_CHARS = 500;
/** How endpoints say that a request does not fit into the model's context. */
const TOO_LONG =
  /context[ _](?:length|window)|maximum context|too many tokens|prompt is too long|exceeds? the (?:maximum|limit)/i;

/** The failure that a request ended with; what is no fault of the endpoint comes back as it is. */
export function toChatError(error: unknown, host: string): unknown {
  if (error instanceof ChatError) return error;
  const options = { cause: error };
  if (error instanceof FetchRefused)
    return new ChatError("model_refused", error.message, { ...options, retryable: false });
  if (error instanceof FetchFailed) {
    return new ChatError("model_unavailable", error.message, { ...options, retryable: error.retryable });
  }
  if (APICallError.isInstance(error)) {
    if (error.cause instanceof FetchFailed || error.cause instanceof FetchRefused)
      return toChatError(error.cause, host);
    const { statusCode: status, responseHeaders, message } = error;
    if (status === undefined || status < 400) {
      return new ChatError(
        "model_answer_invalid",
        `${host} answered what is no answer of a model: ${quoted(message)}`,
        {
          ...options,
          retryable: true,
        },
      );
    }
    const body = error.responseBody ?? message;
    return statusError(host, status, responseHeaders?.["retry-after"], message, body, error);
  }
  // What a stream carries as an error, and what cannot be parsed.
  const message = error instanceof Error ? error.message : JSON.stringify(error);
  return new ChatError("model_answer_invalid", `${host} answered what is no answer of a model: ${quoted(message)}`, {
    ...options,
    retryable: true,
  });
}

/** The failure that a status from 400 on tells of. */
export function statusError(
  host: string,
  status: number,
  retryAfter: string | null | undefined,
  message: string,
  body: string,
  cause?: unknown,
): ChatError {
  const said = `${host} answered ${status}: ${quoted(message)}`;
  const retry_after_ms = retryAfterMs(retryAfter ?? undefined, Date.now()) ?? undefined;
  const options = { cause, status, retryable: true, retry_after_ms };
  if (status === 429 || status === 529) return new ChatError("model_rate_limited", said, options);
  if (status >= 500 || status === 408) return new ChatError("model_unavailable", said, options);
  const tooLong = status === 413 || TOO_LONG.test(body);
  return new ChatError(tooLong ? "context_too_long" : "model_refused", said, { cause, status, retryable: false });
}

function quoted(text: string): string {
  return text.replaceAll(/\s+/g, " ").slice(0, QUOTED_CHARS);
}
