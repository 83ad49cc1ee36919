import { Readable } from "node:stream";
import { FetchFailed } from "./guarded-fetch-errors.ts";
import { RESERVED_HEADERS } from "./guarded-fetch-request.ts";
import type { FetchLimits, GuardedFetch } from "./guarded-fetch.ts";

export interface FetchAdapterOptions {
  readonly limits?: Partial<FetchLimits>;
  /** Names of headers that, like Authorization and Cookie, must not follow a redirect to another origin. */
  readonly secretHeaders?: readonly string[];
}

/** Statuses of responses without a body, for which the standard Response refuses one. */
const BODILESS = [101, 204, 205, 304];

/**
 * The guarded fetch with the interface of the standard `fetch`, for libraries that take one. Bodies stream in both directions. Rejects with
 * FetchRefused and FetchFailed, which the standard does not define.
 */
export function fetchAdapter(guarded: Pick<GuardedFetch, "open">, options: FetchAdapterOptions = {}): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init?.body ? { ...init, duplex: "half" } : init);
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const sent = await bodyOf(request, init?.body);
    const { url, status, headers, body } = await guarded.open({
      url: request.url,
      method: request.method,
      // A library may declare its body's length, but here the body itself determines the framing.
      headers: Object.fromEntries([...request.headers].filter(([name]) => !RESERVED_HEADERS.has(name))),
      ...(sent === undefined ? {} : { body: sent }),
      ...(request.redirect === "follow" ? {} : { redirects: 0 }),
      ...(signal ? { signal } : {}),
      ...options,
    });
    const fault = faultOf(request, status, new URL(url).origin);
    if (fault) {
      body.destroy();
      throw fault;
    }
    if (BODILESS.includes(status)) body.resume();
    const stream = BODILESS.includes(status) ? null : (Readable.toWeb(body) as ReadableStream<Uint8Array>);
    const response = new Response(stream, { status, headers: { ...headers } });
    Object.defineProperty(response, "url", { value: url });
    return response;
  };
}

/** Streams stay streams. A body that is in memory is sent with its length, which some servers require. */
async function bodyOf(request: Request, given: RequestInit["body"]) {
  if (request.body === null) return undefined;
  const isStream = given ? given instanceof ReadableStream || Symbol.asyncIterator in Object(given) : true;
  if (isStream) return request.body;
  return new Uint8Array(await request.arrayBuffer());
}

function faultOf(request: Request, status: number, origin: string): Error | undefined {
  if (request.redirect === "error" && status >= 300 && status < 400 && status !== 304) {
    return new FetchFailed("invalid_response", `${origin} returned a redirect, which is not followed here.`);
  }
  if (status >= 200 && status < 600) return undefined;
  return new FetchFailed("invalid_response", `${origin} returned status ${status}.`);
}
