import { retryAfterMs } from "../../domain/retry-after.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { GuardedFetch, GuardedResponse } from "../fetch/guarded-fetch.ts";
import { FetchFailed, FetchRefused } from "../fetch/guarded-fetch-errors.ts";
import { EmbeddingError } from "./types.ts";

/** An HTTP interface of a model provider. */
export interface ModelEndpoint {
  readonly url: string;
  readonly apiKey: string | null;
}

interface ModelCallOptions {
  /** Attempts in total. Default 5. */
  readonly tries?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Wait before the first retry, doubled before each further one, and the longest wait (ms). */
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Posts JSON to a model provider and reads its JSON, with retries if the provider is busy, fails or cannot be reached. Throws
 * EmbeddingError, which names the host and never the key.
 */
export async function callModel(
  fetch: Pick<GuardedFetch, "fetch">,
  { url, apiKey }: ModelEndpoint,
  body: unknown,
  { tries = 5, signal }: ModelCallOptions = {},
): Promise<unknown> {
  const host = new URL(url).host;
  for (let tried = 1; ; tried += 1) {
    let asked = 0;
    try {
      const answer = await post(fetch, url, apiKey, JSON.stringify(body), signal);
      if (answer.status < 300) return parse(answer.body, host);
      asked = retryAfterMs(answer.headers["retry-after"], Date.now()) ?? 0;
      const detail = apiKey === null ? errorText(answer.body) : errorText(answer.body).replaceAll(apiKey, "***");
      const failure = isTransient(answer.status) ? "unavailable" : "refused";
      throw new EmbeddingError(failure, `${host} returned status ${answer.status}. ${detail}`.trim());
    } catch (error) {
      if (!(error instanceof EmbeddingError) || error.failure !== "unavailable" || tried >= tries) throw error;
    }
    // Jitter, because requests that were refused together would otherwise be retried together.
    const wait = Math.min(
      MAX_RETRY_MS,
      Math.max(asked, FIRST_RETRY_MS * 2 ** (tried - 1) * (0.75 + Math.random() / 2)),
    );
    await delay(wait, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
      throw signal?.aborted === true ? signal.reason : error;
    });
  }
}

/** A value for each of `count` texts, from a response that gives them by index. Throws EmbeddingError if one is missing. */
export function inOrder<Value>(
  { url }: ModelEndpoint,
  found: ReadonlyArray<readonly [number, Value]>,
  count: number,
  what: string,
): Value[] {
  const byIndex = new Map(found);
  return Array.from({ length: count }, (_, index) => {
    const value = byIndex.get(index);
    if (value === undefined) throw new EmbeddingError("malformed", `${new URL(url).host} did not return ${what}.`);
    return value;
  });
}

async function post(
  fetch: Pick<GuardedFetch, "fetch">,
  url: string,
  apiKey: string | null,
  body: string,
  signal: AbortSignal | undefined,
): Promise<GuardedResponse> {
  try {
    return await fetch.fetch({
      url,
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body,
      redirects: 0,
      limits: { responseBytes: MAX_ANSWER_BYTES },
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (error instanceof FetchRefused) throw new EmbeddingError("refused", error.message, { cause: error });
    if (error instanceof FetchFailed) throw new EmbeddingError("unavailable", error.message, { cause: error });
    throw error;
  }
}

const isTransient = (status: number): boolean => status === 408 || status === 429 || status >= 500;

function parse(body: Buffer, host: string): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (error) {
    throw new EmbeddingError("malformed", `${host} returned a response that is not JSON.`, { cause: error });
  }
}

function errorText(body: Buffer): string {
  const text = body.toString("utf8").slice(0, 2000);
  try {
    const { error, message, detail } = JSON.parse(text) as Record<string, unknown>;
    const inner = (error as { message?: unknown } | undefined)?.message ?? error ?? message ?? detail;
    return typeof inner === "string" ? inner.slice(0, 500) : "";
  } catch {
    return text.replaceAll(/\s+/g, " ").slice(0, 200);
  }
}
