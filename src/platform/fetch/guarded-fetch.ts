import { Agent } from "undici";
import type { Dispatcher } from "undici";
import { createAddressPolicy, plainHost } from "./address-policy.ts";
import { ACCEPTED_ENCODINGS, readBody, tooLarge } from "./guarded-fetch-body.ts";
import { checkedAddresses, createGuardedConnector, portOf, systemResolver } from "./guarded-fetch-connect.ts";
import type { Resolver } from "./guarded-fetch-connect.ts";
import { FetchFailed, FetchRefused, toFetchError } from "./guarded-fetch-errors.ts";
import { outboundHeaders, outboundMethod, outboundUrl, redirectHop } from "./guarded-fetch-request.ts";
import type { Hop } from "./guarded-fetch-request.ts";

const MIB = 1024 * 1024;
const MAX_REDIRECTS = 5;
/** Longest time for name resolution where an address is only checked. */
const CHECK_MS = 3000;

/** Limits of one request. */
export interface FetchLimits {
  /** Longest body, on the wire and after decompression. Default 25 MiB. */
  readonly responseBytes: number;
  /** Longest wait for the answer's headers of one hop. Default 60 s. */
  readonly headersMs: number;
  /** Longest silence inside a body. Default 30 s. */
  readonly bodyMs: number;
  /** Longest time in all, redirects included. Default 120 s. */
  readonly totalMs: number;
}

const DEFAULT_LIMITS: FetchLimits = { responseBytes: 25 * MIB, headersMs: 60_000, bodyMs: 30_000, totalMs: 120_000 };

export interface GuardedFetchOptions {
  /** Private hosts that may be reached; see createAddressPolicy. */
  readonly allow: readonly string[];
  readonly limits?: Partial<FetchLimits>;
  /** Longest time for name resolution, and again for the connection. Default 10 s. */
  readonly connectMs?: number;
  /** Longest header block of an answer. Default 32 KiB. */
  readonly headerBytes?: number;
  /** Called once for each finished request: "ok" for any status, the code of FetchRefused or FetchFailed, or "aborted". */
  readonly onRequest?: (outcome: string) => void;
  /** Default: the machine's own resolver. */
  readonly resolve?: Resolver;
}

export interface GuardedRequest {
  readonly url: string;
  /** Default GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Names of headers that, like Authorization and Cookie, must not follow a redirect to another origin. */
  readonly secretHeaders?: readonly string[];
  readonly body?: string | Uint8Array;
  /** Redirects that are followed, 0 to 5 (the default). With 0 the redirect itself is the answer. */
  readonly redirects?: number;
  readonly limits?: Partial<FetchLimits>;
  /**
   * What to do with a body that is longer than responseBytes, breaks off, takes too long or cannot be decoded: "fail"
   * (default), or "keep" what was read of it, for callers that need only status and headers.
   */
  readonly incomplete?: "fail" | "keep";
  readonly signal?: AbortSignal;
}

export interface GuardedResponse {
  /** Where the answer came from, after redirects. */
  readonly url: string;
  readonly status: number;
  /** Names in lower case; repeated headers joined by ", ". No prototype: a header may have any name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decompressed. */
  readonly body: Buffer;
  /** Whether it is longer than responseBytes. */
  readonly truncated: boolean;
  /** Why the body is not whole, though not too long; only where the request says to keep it. */
  readonly broken?: FetchFailed;
}

export interface GuardedFetch {
  /** Sends one request. Rejects with FetchRefused, FetchFailed, or the reason of the caller's signal. */
  fetch(request: GuardedRequest): Promise<GuardedResponse>;
  /**
   * Checks whether requests to this address would be allowed now; each request is checked again.
   * Rejects with FetchRefused. A name that cannot be resolved passes.
   */
  check(url: string): Promise<void>;
  /** Closes every connection; requests under way fail. */
  close(): Promise<void>;
}

/**
 * Creates the service's only HTTP client: every request to an address that a user, a page or a redirect chose goes
 * through here, so that none can reach the network behind the service.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const connectMs = options.connectMs ?? 10_000;
  const policy = createAddressPolicy(options.allow);
  const resolve = options.resolve ?? systemResolver;
  const agent = new Agent({
    connect: createGuardedConnector(policy, resolve, connectMs),
    maxHeaderSize: options.headerBytes ?? 32 * 1024,
  });

  async function fetch(request: GuardedRequest): Promise<GuardedResponse> {
    try {
      const response = await follow(request);
      options.onRequest?.(response.broken?.code ?? "ok");
      return response;
    } catch (error) {
      options.onRequest?.(error instanceof FetchRefused || error instanceof FetchFailed ? error.code : "aborted");
      throw error;
    }
  }

  async function follow(request: GuardedRequest): Promise<GuardedResponse> {
    const limits = { ...DEFAULT_LIMITS, ...options.limits, ...request.limits };
    const secret = new Set((request.secretHeaders ?? []).map((name) => name.toLowerCase()));
    const followed = Math.min(request.redirects ?? MAX_REDIRECTS, MAX_REDIRECTS);
    let hop = firstHop(request);
    const deadline = startDeadline(request.signal, limits.totalMs, hop.url.origin);
    try {
      for (let redirects = 0; ; redirects += 1) {
        const answer = await send(agent, hop, limits, deadline.signal);
        const location = single(answer.headers["location"]);
        const next = followed === 0 ? undefined : redirectHop(hop, answer.statusCode, location, secret);
        if (next === undefined) return await receive(answer, hop, limits, request);
        if (redirects === followed) {
          throw new FetchRefused("too_many_redirects", `${hop.url.origin} redirects more than ${followed} times.`);
        }
        // Not awaited: a redirect's body may be endless. The deadline's signal aborts the rest of it.
        void answer.body.dump({ limit: 16 * 1024 });
        hop = next;
      }
    } catch (error) {
      if (request.signal?.aborted === true) throw request.signal.reason;
      throw toFetchError(error, hop.url.origin);
    } finally {
      deadline.end();
    }
  }

  async function check(text: string): Promise<void> {
    const url = outboundUrl(text);
    try {
      await checkedAddresses(policy, resolve, plainHost(url.hostname), portOf(url), CHECK_MS);
    } catch (error) {
      if (!(error instanceof FetchFailed)) throw error;
    }
  }

  return { fetch, check, close: () => agent.destroy() };
}

function firstHop(request: GuardedRequest): Hop {
  const url = outboundUrl(request.url);
  const headers = outboundHeaders(request.headers ?? {});
  if (!headers.has("accept-encoding")) headers.set("accept-encoding", ACCEPTED_ENCODINGS);
  return { url, method: outboundMethod(request.method ?? "GET"), headers, body: request.body };
}

async function send(
  agent: Agent,
  hop: Hop,
  limits: FetchLimits,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const answer = await agent.request({
    origin: hop.url.origin,
    path: hop.url.pathname + hop.url.search,
    method: hop.method,
    headers: Object.fromEntries(hop.headers),
    body: hop.body ?? null,
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.bodyMs,
    signal,
  });
  // Without a listener an error of an unread body would crash the process; readers get the error regardless.
  answer.body.on("error", () => undefined);
  return answer;
}

async function receive(
  answer: Dispatcher.ResponseData,
  hop: Hop,
  limits: FetchLimits,
  { incomplete = "fail", signal }: GuardedRequest,
): Promise<GuardedResponse> {
  const headers = plainHeaders(answer.headers);
  const { origin } = hop.url;
  const limit = limits.responseBytes;
  const bodiless = hop.method === "HEAD" || answer.statusCode === 204 || answer.statusCode === 304;
  if (!bodiless && incomplete === "fail" && Number(headers["content-length"]) > limit)
    throw tooLarge({ origin, limit });
  const contentEncoding = bodiless ? undefined : headers["content-encoding"];
  const { broken, ...read } = await readBody(answer.body, { origin, contentEncoding, limit, incomplete });
  const response = { url: hop.url.href, status: answer.statusCode, headers, ...read };
  if (broken === undefined) return response;
  const reason = toFetchError(broken, origin);
  if (signal?.aborted === true || !(reason instanceof FetchFailed)) throw reason;
  return { ...response, broken: reason };
}

function plainHeaders(received: Dispatcher.ResponseData["headers"]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(received)) {
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

// Written out, since AbortSignal.any and AbortSignal.timeout keep what they are built from alive on Node 20.
function startDeadline(outer: AbortSignal | undefined, ms: number, origin: string) {
  const controller = new AbortController();
  const stop = () => controller.abort(outer?.reason);
  if (outer?.aborted === true) stop();
  outer?.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(() => {
    controller.abort(new FetchFailed("timeout", `${origin} did not answer completely within ${ms} ms.`));
  }, ms);
  return {
    signal: controller.signal,
    /** Also drops what is still under way: the rest of a redirect's body, or of one that was cut short. */
    end() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", stop);
      controller.abort();
    },
  };
}
