import { Readable } from "node:stream";
import { Agent, type Dispatcher } from "undici";
import { createAddressPolicy, plainHost } from "./address-policy.ts";
import { ACCEPTED_ENCODINGS, plainBody, readBody, tooLarge } from "./guarded-fetch-body.ts";
import {
  checkedAddresses,
  createGuardedConnector,
  portOf,
  systemResolver,
  type Resolver,
} from "./guarded-fetch-connect.ts";
import { FetchFailed, FetchRefused, toFetchError } from "./guarded-fetch-errors.ts";
import {
  isStream,
  outboundHeaders,
  outboundMethod,
  outboundUrl,
  redirectHop,
  type Hop,
  type RequestBody,
} from "./guarded-fetch-request.ts";
import { readableOf, sendHop, startDeadline, type HopLimits } from "./guarded-fetch-send.ts";
import { traceCall, type TracedCall } from "../tracing/outbound.ts";

const MIB = 1024 * 1024;
const MAX_REDIRECTS = 5;
/** Longest time for name resolution if an address is only checked. */
const CHECK_MS = 3000;

/** Limits of one request. */
export interface FetchLimits extends HopLimits {
  /** Longest body, on the wire and after decompression. Default 25 MiB. */
  readonly responseBytes: number;
  /** Longest time in total, including redirects and the body. Default 120 s; Infinity sets none. */
  readonly totalMs: number;
}

const DEFAULT_LIMITS: FetchLimits = {
  responseBytes: 25 * MIB,
  requestBytes: 25 * MIB,
  headersMs: 60_000,
  bodyMs: 30_000,
  totalMs: 120_000,
};

export interface GuardedFetchOptions {
  /** Private hosts that may be reached; see createAddressPolicy. */
  readonly allow: readonly string[];
  readonly limits?: Partial<FetchLimits>;
  /** Longest time for name resolution, and again for the connection. Default 10 s. */
  readonly connectMs?: number;
  /** Longest header block of a response. Default 32 KiB. */
  readonly headerBytes?: number;
  /** Called once for each finished request: "ok" for any status, the code of FetchRefused or FetchFailed, or "aborted". */
  readonly onRequest?: (outcome: string) => void;
  /** Headers for each request that may change something; they override the request's own headers. */
  readonly callHeaders?: () => Readonly<Record<string, string>>;
  /** Default: the machine's own resolver. */
  readonly resolve?: Resolver;
}

/** A request whose response is read as a stream. */
export interface StreamRequest {
  readonly url: string;
  /** Default GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Names of headers that, like Authorization and Cookie, must not follow a redirect to another origin. */
  readonly secretHeaders?: readonly string[];
  /**
   * A stream is read as fast as the other side accepts it, and destroyed when the request ends. If the stream fails, its own error is
   * thrown.
   */
  readonly body?: RequestBody;
  /** Length of a streamed body, if known; otherwise the body is sent with chunked Transfer-Encoding. */
  readonly bodyBytes?: number;
  /** Redirects that are followed, 0 to 5 (the default). With 0 the redirect itself is returned. */
  readonly redirects?: number;
  /** Called with the target before a redirect is followed. An exception ends the request. */
  readonly beforeRedirect?: (url: string) => Promise<void>;
  readonly limits?: Partial<FetchLimits>;
  readonly signal?: AbortSignal;
}

export interface GuardedRequest extends StreamRequest {
  /**
   * What to do with a body that is longer than responseBytes, breaks off, takes too long or cannot be decoded: "fail" (default), or "keep"
   * the part that was read, for callers that need only status and headers.
   */
  readonly incomplete?: "fail" | "keep";
}

export interface GuardedResponse {
  /** The URL of the response, after redirects. */
  readonly url: string;
  readonly status: number;
  /** Names in lower case; repeated headers joined by ", ". No prototype: a header may have any name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decompressed. */
  readonly body: Buffer;
  /** Whether the body is longer than responseBytes. */
  readonly truncated: boolean;
  /** Why the body is incomplete although it is not too long; only set if the request allows incomplete bodies. */
  readonly broken?: FetchFailed;
}

/** A response whose body is still arriving. */
export interface GuardedStream extends Pick<GuardedResponse, "url" | "status" | "headers"> {
  /**
   * Decompressed chunks as they arrive. Fails with FetchFailed or the reason of the caller's signal. The connection is occupied until the
   * body has been read or destroyed.
   */
  readonly body: Readable;
}

export interface GuardedFetch {
  /** Sends one request and reads the whole response. Rejects with FetchRefused, FetchFailed, or the reason of the caller's signal. */
  fetch(request: GuardedRequest): Promise<GuardedResponse>;
  /** Sends one request; resolves once the response headers have arrived. Rejects like `fetch`. */
  open(request: StreamRequest): Promise<GuardedStream>;
  /**
   * Checks whether requests to this address would be allowed now; each request is checked again.
   * Rejects with FetchRefused. A name that cannot be resolved passes.
   */
  check(url: string): Promise<void>;
  /** Closes every connection; requests in progress fail. */
  close(): Promise<void>;
}

/**
 * Creates the only HTTP client for addresses that a user, a page or a redirect chose: every such request goes through here, so that none
 * can reach the internal network.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const connectMs = options.connectMs ?? 10_000;
  const policy = createAddressPolicy(options.allow);
  const resolve = options.resolve ?? systemResolver;
  const agent = new Agent({
    connect: createGuardedConnector(policy, resolve, connectMs),
    maxHeaderSize: options.headerBytes ?? 32 * 1024,
  });

  /** Sends a request. The reader of the response reports the outcome, unless an error is thrown before. */
  async function send<Answer>(
    request: StreamRequest,
    read: (exchange: Exchange, onEnd: (outcome: string) => void) => Promise<Answer>,
  ): Promise<Answer> {
    const call = traceCall(request);
    const ended = (outcome: string, status?: number): void => {
      options.onRequest?.(outcome);
      call.end(outcome, status);
    };
    try {
      const exchange = await begin(request, call);
      return await read(exchange, (outcome) => ended(outcome, exchange.answer.statusCode));
    } catch (error) {
      ended(outcomeOf(error));
      throw error;
    }
  }

  const fetch = (request: GuardedRequest): Promise<GuardedResponse> =>
    send(request, async (exchange, onEnd) => {
      try {
        const response = await receive(exchange, request);
        onEnd(response.broken?.code ?? "ok");
        return response;
      } finally {
        exchange.end();
      }
    });

  const open = (request: StreamRequest): Promise<GuardedStream> =>
    send(request, async (exchange, onEnd) => {
      const { hop, answer } = exchange;
      const headers = plainHeaders(answer.headers);
      try {
        const body = streamed(plainBody(answer.body, bodyOptions(exchange, headers)), exchange, onEnd);
        return { url: hop.url.href, status: answer.statusCode, headers, body };
      } catch (error) {
        exchange.end();
        throw error;
      }
    });

  /** Sends the request and follows redirects, until the response headers have arrived. */
  async function begin(request: StreamRequest, call: TracedCall): Promise<Exchange> {
    const limits = { ...DEFAULT_LIMITS, ...options.limits, ...request.limits };
    const secret = new Set((request.secretHeaders ?? []).map((name) => name.toLowerCase()));
    const followed = Math.min(request.redirects ?? MAX_REDIRECTS, MAX_REDIRECTS);
    let hop = firstHop(request, options.callHeaders, call);
    const source = isStream(request.body) ? readableOf(request.body) : undefined;
    const deadline = startDeadline(request.signal, limits.totalMs, hop.url.origin);
    let stopped: { readonly error: unknown } | undefined;
    let redirected = false;
    const failure = (error: unknown) => {
      if (stopped) return stopped.error;
      if (request.signal?.aborted === true) return request.signal.reason as unknown;
      return source?.failed ? source.failed.error : toFetchError(error, hop.url.origin);
    };
    const end = () => {
      deadline.end();
      source?.stream.destroy();
    };
    try {
      for (let redirects = 0; ; redirects += 1) {
        const answer = await sendHop(agent, hop, source, limits, deadline);
        const location = single(answer.headers["location"]);
        redirected ||= location !== undefined;
        const next = followed === 0 ? undefined : redirectHop(hop, answer.statusCode, location, secret);
        if (next === undefined) return { answer, hop, limits, failure, end };
        if (redirects === followed) {
          throw new FetchRefused("too_many_redirects", `${hop.url.origin} redirects more than ${followed} times.`);
        }
        // Not awaited, because a redirect's body may be endless. The deadline's signal aborts the rest of it.
        void answer.body.dump({ limit: 16 * 1024 });
        await request.beforeRedirect?.(next.url.href).catch((error: unknown) => {
          stopped = { error };
          throw error;
        });
        hop = next;
      }
    } catch (error) {
      // Converted before `end()`, which would cause another error in a streamed body.
      const thrown = failure(error);
      end();
      throw redirected && thrown instanceof FetchRefused
        ? new FetchRefused(thrown.code, thrown.message, { redirected })
        : thrown;
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

  return { fetch, open, check, close: () => agent.destroy() };
}

/** A response whose body has not been read, with the state of its request. */
interface Exchange {
  readonly answer: Dispatcher.ResponseData;
  readonly hop: Hop;
  readonly limits: FetchLimits;
  /** Converts an error to the one that the caller sees. */
  failure(error: unknown): unknown;
  /** Aborts what is still in progress in either direction. */
  end(): void;
}

function outcomeOf(error: unknown): string {
  return error instanceof FetchRefused || error instanceof FetchFailed ? error.code : "aborted";
}

function firstHop(
  request: StreamRequest,
  callHeaders: GuardedFetchOptions["callHeaders"],
  { headers: traced }: TracedCall,
): Hop {
  const url = outboundUrl(request.url);
  const method = outboundMethod(request.method ?? "GET");
  const headers = outboundHeaders(request.headers ?? {});
  if (method !== "GET" && method !== "HEAD")
    for (const [name, value] of Object.entries(callHeaders?.() ?? {})) headers.set(name, value);
  for (const [name, value] of Object.entries(traced)) if (!headers.has(name)) headers.set(name, value);
  if (!headers.has("accept-encoding")) headers.set("accept-encoding", ACCEPTED_ENCODINGS);
  if (isStream(request.body) && request.bodyBytes !== undefined) {
    headers.set("content-length", String(request.bodyBytes));
  }
  return { url, method, headers, body: request.body };
}

async function receive(exchange: Exchange, { incomplete = "fail", signal }: GuardedRequest): Promise<GuardedResponse> {
  const { answer, hop } = exchange;
  const headers = plainHeaders(answer.headers);
  try {
    const asked = { ...bodyOptions(exchange, headers, incomplete), incomplete };
    const { broken, ...read } = await readBody(answer.body, asked, signal);
    const response = { url: hop.url.href, status: answer.statusCode, headers, ...read };
    if (broken === undefined) return response;
    const reason = exchange.failure(broken);
    if (signal?.aborted === true || !(reason instanceof FetchFailed)) throw reason;
    return { ...response, broken: reason };
  } catch (error) {
    throw exchange.failure(error);
  }
}

/** Chooses how to read the body of a response. Throws FetchFailed if its headers already show that it is too long. */
function bodyOptions(
  { answer, hop, limits }: Exchange,
  headers: Readonly<Record<string, string>>,
  incomplete: "fail" | "keep" = "fail",
) {
  const { origin } = hop.url;
  const limit = limits.responseBytes;
  const bodiless = hop.method === "HEAD" || answer.statusCode === 204 || answer.statusCode === 304;
  if (!bodiless && incomplete === "fail" && Number(headers["content-length"]) > limit)
    throw tooLarge({ origin, limit });
  return { origin, contentEncoding: bodiless ? undefined : headers["content-encoding"], limit, incomplete };
}

/** The body as a stream for its reader. The exchange ends when either the reader or the sender stops. */
function streamed(chunks: AsyncGenerator<Uint8Array>, exchange: Exchange, onEnd: (outcome: string) => void): Readable {
  let outcome = "aborted";
  const body = new Readable({
    read() {
      chunks.next().then(
        ({ done, value }) => {
          if (done === true) outcome = "ok";
          this.push(done === true ? null : value);
        },
        (error: unknown) => {
          const failure = exchange.failure(error);
          outcome = outcomeOf(failure);
          this.destroy(failure as Error);
        },
      );
    },
    destroy(error, done) {
      exchange.end();
      void chunks.return(undefined).catch(() => undefined);
      onEnd(outcome);
      done(error);
    },
  });
  // Without this listener the error of a reader that is busy elsewhere would end the process; the reader gets the error when it continues.
  return body.on("error", () => undefined);
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
