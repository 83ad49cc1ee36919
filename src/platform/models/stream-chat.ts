import { APICallError, InvalidResponseDataError } from "@ai-sdk/provider";
import type { ChatAnswer, ChatRequest } from "../../domain/models/chat.ts";
import { retryAfterMs } from "../../domain/retry-after.ts";
import { FetchFailed, FetchRefused } from "../fetch/guarded-fetch-errors.ts";
import { linkAbort } from "../linked-abort.ts";
import { createAnswer } from "./chat-answer.ts";
import { firstForm, nextForm, type ChatEndpoint, type RequestForm } from "./chat-request.ts";
import { openAnswer } from "./whole-answer.ts";

/** Why a call returned no complete response. */
export type ChatFailure =
  | "model_refused"
  | "model_unavailable"
  | "model_rate_limited"
  | "model_stream_broken"
  | "model_answer_invalid"
  | "context_too_long"
  | "model_timeout";

/** Thrown when a model did not respond. The message names the endpoint's host and may quote it; the caller masks secrets. */
export class ChatError extends Error {
  readonly failure: ChatFailure;
  readonly retryable: boolean;
  /** Status of the endpoint's response, if there was one. */
  readonly status: number | null;
  /** How long the endpoint asked to wait (ms). */
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
  /** Called with each piece of text as it arrives. */
  readonly onText?: (text: string) => void;
}

/**
 * Calls a model once and reads its response as it arrives. Uses only the protocol layer of the AI SDK: its higher layer would retry calls,
 * run tools and download images on its own, which the flow engine does here. Throws ChatError, or the reason of the signal; the request is
 * closed then.
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

/** A connection lost mid-response is a different error from one that was never made. */
function asBroken(failure: unknown, host: string): unknown {
  if (!(failure instanceof ChatError) || failure.failure !== "model_unavailable" || failure.status !== null)
    return failure;
  const message = `The response of ${host} was interrupted: ${failure.message}`;
  return new ChatError("model_stream_broken", message, { retryable: true, cause: failure });
}

/** Text that an endpoint sent instead of a response. */
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
    const message = `${host} sent nothing for ${silenceMs} ms.`;
    stop.abort(new ChatError("model_timeout", message, { retryable: true }));
  }, silenceMs);
  try {
    const { parts, isWhole } = await openAnswer(fetch, endpoint, { request, form }, stop.signal);
    const answer = createAnswer();
    started = true;
    for await (const part of parts) {
      silence.refresh();
      if (part.type === "error") throw part.error;
      if (part.type === "text-delta") onText?.(part.delta);
      answer.add(part);
    }
    stop.signal.throwIfAborted();
    const finished = answer.finished(request.messages, isWhole);
    if (finished === null) throw brokenOff(host);
    return finished;
  } catch (error) {
    if (stop.signal.aborted) throw stop.signal.reason;
    const failure = toChatError(error, host);
    throw started ? asBroken(failure, host) : failure;
  } finally {
    clearTimeout(silence);
    stop.end();
    // Also closed after an internal error, because an unread response would still be paid for.
    stop.abort();
  }
}

const QUOTED_CHARS = 500;
/** Error texts of endpoints whose model's context is too small for the request. */
const TOO_LONG =
  /context[ _](?:length|window)|maximum context|too many tokens|prompt is too long|exceeds? the (?:maximum|limit)/i;

/** Converts an endpoint failure to a ChatError; returns other errors unchanged. */
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
  // The SDK uses this error without data for a stream without an end; with data, the endpoint sent something invalid.
  if (InvalidResponseDataError.isInstance(error) && error.data === undefined) return brokenOff(host, { cause });
  // An error that the stream contains, or content that cannot be parsed.
  return noAnswer(host, error instanceof Error ? error.message : JSON.stringify(error), cause);
}

function noAnswer(host: string, said: string, cause: unknown): ChatError {
  const message = `${host} returned something that is not a model's response: ${quoted(said)}`;
  return new ChatError("model_answer_invalid", message, { cause, retryable: true });
}

function brokenOff(host: string, options: { readonly cause?: unknown } = {}): ChatError {
  const message = `The response of ${host} was interrupted before it was complete.`;
  return new ChatError("model_stream_broken", message, { ...options, retryable: true });
}

/** The failure for a status of 400 or more. */
export function statusError(
  host: string,
  status: number,
  retryAfter: string | null | undefined,
  message: string,
  body: string,
  cause?: unknown,
): ChatError {
  const said = `${host} returned status ${status}: ${quoted(message)}`;
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
