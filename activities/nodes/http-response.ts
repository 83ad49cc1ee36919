import { retryAfterMs } from "../../src/domain/retry-after.ts";
import { TextDecoder } from "node:util";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { parseExactJson } from "../../src/domain/exact-json.ts";
import type { Json } from "../../src/domain/json.ts";
import { unstorableText } from "../../src/domain/storable.ts";
import { FetchFailed, FetchRefused } from "../../src/platform/fetch/guarded-fetch-errors.ts";
import type { GuardedFetch, GuardedRequest, GuardedResponse } from "../../src/platform/fetch/guarded-fetch.ts";
import { charsetOfPage, decodeBytes } from "../../src/platform/parsing/decode-text.ts";
import { redactSecrets } from "../../src/platform/logging/redaction.ts";

/** Characters of a body that a failure's message quotes. */
const QUOTED_CHARS = 500;
/** Deepest nesting of JSON in a response; deeper values are refused, because later code walks them recursively. */
const MAX_JSON_DEPTH = 100;
const RETRYABLE: ReadonlySet<number> = new Set([408, 425, 429]);

/** Parts of a Content-Type header; `mime` is "" if there is none. */
export function contentType(header: string | undefined): { mime: string; charset: string | undefined } {
  const mime = (header ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return { mime, charset: /;\s*charset\s*=\s*"?([\w:.-]{1,40})/i.exec(header ?? "")?.[1] };
}

/**
 * The body as a flow sees it: JSON is parsed (it stays text, with its escapes, if it is not valid or has strings that
 * cannot be stored), text is decoded by its charset, anything else is `{encoding: "base64", content_type, size,
 * data}`. Integers beyond 2^53 become text. Throws NodeFailure for JSON nested too deep.
 */
export function readableBody(response: GuardedResponse): Json {
  const { mime, charset } = contentType(response.headers["content-type"]);
  if (response.body.length === 0) return isJson(mime) ? null : "";
  const text = decode(response.body, mime, charset);
  if (text === undefined || unstorableText(text) !== undefined) {
    const { length: size } = response.body;
    return { encoding: "base64", content_type: mime || null, size, data: response.body.toString("base64") };
  }
  if (!isJson(mime)) return text;
  let value: Json;
  try {
    value = parseExactJson(text);
  } catch {
    return text;
  }
  requireFlat(value, 0);
  return unstorableText(value) === undefined ? value : text;
}

/** The headers as a flow sees them: without cookies, which belong to the session of the service and not to the flow. */
export function readableHeaders(response: GuardedResponse): Record<string, string> {
  return Object.fromEntries(
    Object.entries(response.headers)
      .filter(([name]) => name !== "set-cookie" && name !== "__proto__")
      .map(([name, value]) => [name, storable(value)]),
  );
}

/** The failure for an unexpected status; `secrets` are masked in its quotation. */
export function statusFailure(response: GuardedResponse, secrets: readonly string[] = []): NodeFailure {
  const { status } = response;
  const { mime, charset } = contentType(response.headers["content-type"]);
  const sample = firstBytes(response.body, 8 * QUOTED_CHARS);
  const text = failedRun(response, mime) ?? decode(sample, mime, charset) ?? `(${response.body.length} bytes)`;
  const quoted = scrub(text, secrets).slice(0, QUOTED_CHARS);
  const message = `${new URL(response.url).origin} returned status ${status}${quoted === "" ? "" : `: ${quoted}`}`;
  return new NodeFailure("http_status", message, {
    upstream: true,
    upstream_status: status,
    retryable: RETRYABLE.has(status) || status >= 500,
    retry_after_ms: retryAfterMs(response.headers["retry-after"], Date.now()) ?? undefined,
  });
}

/** A longer problem document (bytes) is quoted like any other body. */
const MAX_PROBLEM_BYTES = 256 * 1024;
/** The prefix of a message that already quotes another failed run; that inner run is the one worth naming. */
const QUOTED_RUN = /^\S{1,300} (?:answered|returned status) \d{3}: (?=run [\da-f-]{36}: )/;

/** The failed run and its error from a Millrace response, named only once however many flows have called each other. */
function failedRun({ body }: GuardedResponse, mime: string): string | undefined {
  if (mime !== "application/problem+json" || body.length > MAX_PROBLEM_BYTES) return undefined;
  try {
    const { run_id, detail } = JSON.parse(body.toString()) as { readonly run_id?: unknown; readonly detail?: unknown };
    if (typeof run_id !== "string" || typeof detail !== "string") return undefined;
    return QUOTED_RUN.test(detail) ? detail.replace(QUOTED_RUN, "") : `run ${run_id}: ${detail}`;
  } catch {
    return undefined;
  }
}

/**
 * Converts the guarded fetch's error for a request without a response; returns other errors, such as a cancellation,
 * unchanged.
 */
export function fetchFailure(error: unknown): unknown {
  if (error instanceof FetchRefused)
    return new NodeFailure("http_refused", error.message, { upstream: error.redirected, cause: error });
  if (!(error instanceof FetchFailed)) return error;
  if (error.code === "response_too_large" || error.code === "headers_too_large") {
    return new NodeFailure("value_too_large", error.message, { cause: error });
  }
  return new NodeFailure("http_failed", error.message, { upstream: true, retryable: error.retryable, cause: error });
}

/** Sends a request. Throws NodeFailure if there is no response. */
export async function sendRequest(
  guarded: Pick<GuardedFetch, "fetch">,
  request: GuardedRequest,
): Promise<GuardedResponse> {
  return await guarded.fetch(request).catch((error: unknown) => {
    throw fetchFailure(error);
  });
}

/** The response of a request whose status is 2xx. Throws NodeFailure otherwise. */
export async function fetchOk(guarded: Pick<GuardedFetch, "fetch">, request: GuardedRequest): Promise<GuardedResponse> {
  const response = await sendRequest(guarded, request);
  if (response.status < 200 || response.status > 299) throw statusFailure(response);
  return response;
}

/** Text without U+0000 and lone surrogates, which Postgres cannot store. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}

/** The first bytes, not cut within a UTF-8 character. */
function firstBytes(bytes: Buffer, count: number): Buffer {
  let end = count;
  while (end > count - 3 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
}

function isJson(mime: string): boolean {
  return mime === "application/json" || mime === "text/json" || mime.endsWith("+json");
}

function isText(mime: string): boolean {
  return /^text\/|[/+](?:json|xml|yaml|x-yaml|javascript|x-www-form-urlencoded|x-ndjson|graphql|csv|toml)$/.test(mime);
}

/** The text, or undefined if the body is not text. Without a declared type, valid UTF-8 is text. */
function decode(bytes: Buffer, mime: string, charset: string | undefined): string | undefined {
  if (isText(mime) || charset !== undefined) {
    const named = charset ?? (mime === "text/html" ? charsetOfPage(bytes) : null);
    return decodeBytes(bytes, named);
  }
  if (mime !== "") return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/**
 * Refuses values nested too deep, and removes fields called `__proto__`. Changes the value in place, because the parser
 * has just created it.
 */
function requireFlat(value: Json, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth >= MAX_JSON_DEPTH) {
    throw new NodeFailure(
      "value_too_large",
      `The JSON of the response is nested deeper than ${MAX_JSON_DEPTH} levels.`,
    );
  }
  if (!Array.isArray(value)) delete (value as Record<string, Json>)["__proto__"];
  for (const item of Object.values(value)) requireFlat(item as Json, depth + 1);
}

function scrub(text: string, secrets: readonly string[]): string {
  let clean = storable(text);
  for (const secret of secrets) clean = clean.replaceAll(secret, "[redacted]");
  return redactSecrets(clean).trim();
}
