import { APICallError, InvalidResponseDataError } from "@ai-sdk/provider";
import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider";
import { parseExactJson } from "../../domain/exact-json.ts";
import { isFlat } from "../../domain/flat-json.ts";
import type { Json } from "../../domain/json.ts";
import type { ChatAnswer, ChatRequest, FinishReason, ToolCall } from "../../domain/models/chat.ts";
import { retryAfterMs } from "../../domain/retry-after.ts";
import { FetchFailed, FetchRefused } from "../fetch/guarded-fetch-errors.ts";
import { linkAbort } from "../linked-abort.ts";
import { callOptions, firstForm, nextForm, openModel } from "./chat-request.ts";
import type { ChatEndpoint, RequestForm } from "./chat-request.ts";

/** Why a call brought no whole answer. */
export type ChatFailure =
  | "model_refused"
  | "model_unavailable"
  | "model_rate_limited"
  | "model_stream_broken"
  | "model_answer_invalid"
  | "context_too_long"
  | "model_timeout";

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
 * calls, run tools and fetch images on its own, which are the work of the flow engine here. Throws ChatError, or the reason of the
 * signal; the request is closed then.
 */
export async function streamChat(
  fetch: typeof globalThis.fetch,
  endpoint: ChatEndpoint,
  request: ChatRequest,
  options: ChatOptions,
): Promise<ChatAnswer> {
  let form = firstForm(endpoint, request);
  for (;;) {
    try {
      return await askOnce(fetch, endpoint, { request, form }, options);
    } catch (error) {
      const next = error instanceof ChatError ? nextForm(form, request, error.status, bodyOf(error.cause)) : null;
      if (next === null) throw error;
      form = next;
    }
  }
}

/** A connection that ends in the middle of an answer is another thing than one that there never was. */
function asBroken(failure: unknown, host: string): unknown {
  if (!(failure instanceof ChatError) || failure.failure !== "model_unavailable" || failure.status !== null)
    return failure;
  const message = `${host} ended its answer before it was whole: ${failure.message}`;
  return new ChatError("model_stream_broken", message, { retryable: true, cause: failure });
}

/** What an endpoint answered in place of an answer. */
const bodyOf = (cause: unknown): string =>
  APICallError.isInstance(cause) ? (cause.responseBody ?? cause.message) : "";

async function askOnce(
  fetch: typeof globalThis.fetch,
  endpoint: ChatEndpoint,
  { request, form }: { readonly request: ChatRequest; readonly form: RequestForm },
  { signal, silenceMs, onText }: ChatOptions,
): Promise<ChatAnswer> {
  const { host } = new URL(endpoint.base_url);
  let started = false;
  signal.throwIfAborted();
  const stop = linkAbort([signal]);
  const silence = setTimeout(() => {
    const message = `${host} has sent nothing for ${silenceMs} ms.`;
    stop.abort(new ChatError("model_timeout", message, { retryable: true }));
  }, silenceMs);
  try {
    const model = openModel(fetch, endpoint, request, form);
    const { stream } = await model.doStream(callOptions(endpoint, request, form, stop.signal));
    const answer = createAnswer();
    started = true;
    for await (const part of stream) {
      silence.refresh();
      if (part.type === "error") throw part.error;
      if (part.type === "text-delta") onText?.(part.delta);
      answer.add(part);
    }
    stop.signal.throwIfAborted();
    return answer.finished(host);
  } catch (error) {
    if (stop.signal.aborted) throw stop.signal.reason;
    const failure = toChatError(error, host);
    throw started ? asBroken(failure, host) : failure;
  } finally {
    clearTimeout(silence);
    stop.end();
    // Also after a fault of ours: an answer that nobody reads would be paid for.
    stop.abort();
  }
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
      if (finish === undefined || (finish.reason.raw === undefined && toolCalls.length === 0)) throw brokenOff(host);
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

/** Arguments of a tool; a text where they are no JSON, or nest so deep that later code could not walk them. */
function parsed(text: string): Json {
  try {
    const value = parseExactJson(text === "" ? "{}" : text);
    return isFlat(value) ? value : text;
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
  const cause = error;
  if (error instanceof FetchRefused) return new ChatError("model_refused", error.message, { cause, retryable: false });
  if (error instanceof FetchFailed)
    return new ChatError("model_unavailable", error.message, { cause, retryable: error.retryable });
  if (APICallError.isInstance(error)) {
    if (error.cause instanceof FetchFailed || error.cause instanceof FetchRefused)
      return toChatError(error.cause, host);
    const { statusCode: status, responseHeaders, message } = error;
    if (status === undefined || status < 400) return noAnswer(host, message, cause);
    const body = error.responseBody ?? message;
    return statusError(host, status, responseHeaders?.["retry-after"], message, body, error);
  }
  // The SDK's own word for a stream without an end: of what the endpoint has said wrong it has the data.
  if (InvalidResponseDataError.isInstance(error) && error.data === undefined) return brokenOff(host, { cause });
  // What a stream carries as an error, and what cannot be parsed.
  return noAnswer(host, error instanceof Error ? error.message : JSON.stringify(error), cause);
}

function noAnswer(host: string, said: string, cause: unknown): ChatError {
  const message = `${host} answered what is no answer of a model: ${quoted(said)}`;
  return new ChatError("model_answer_invalid", message, { cause, retryable: true });
}

function brokenOff(host: string, options: { readonly cause?: unknown } = {}): ChatError {
  const message = `${host} ended its answer before it was whole.`;
  return new ChatError("model_stream_broken", message, { ...options, retryable: true });
}

/** The failure that a status from 400 on reports. */
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
