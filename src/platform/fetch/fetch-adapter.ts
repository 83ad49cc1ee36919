import { Readable } from "node:stream";
import { FetchFailed } from "./guarded-fetch-errors.ts";
import { RESERVED_HEADERS } from "./guarded-fetch-request.ts";
import type { FetchLimits, GuardedFetch } from "./guarded-fetch.ts";

export interface FetchAdapterOptions {
  readonly limits?: Partial<FetchLimits>;
  /** Names of headers that, like Authorization and Cookie, must not follow a redirect to another origin. */
  readonly secretHeaders?: readonly string[];
}

/** Statuses whose answers have no body; the standard's Response refuses one. */
const BODILESS = [101, 204, 205, 304];

/**
 * The guarded fetch in the shape of the standard's, for libraries that take a `fetch`. Bodies stream in both directions. Rejects
 * with FetchRefused and FetchFailed, which the standard's has no words for.
 */
export function fetchAdapter(guarded: Pick<GuardedFetch, "open">, options: FetchAdapterOptions = {}): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init?.body ? { ...init, duplex: "half" } : init);
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const sent = await bodyOf(request, init?.body);
    const { url, status, headers, body } = await guarded.open({
      url: request.url,
      method: request.method,
      // A library may well say its body's length; what frames a message follows from the body here.
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

/** Streams stay streams. What is in memory already is sent with its length, which not every server can do without. */
async function bodyOf(request: Request, given: RequestInit["body"]) {
  if (request.body === null) return undefined;
  const isStream = given ? given instanceof ReadableStream || Symbol.asyncIterator in Object(given) : true;
  if (isStream) return request.body;
  return new Uint8Array(await request.arrayBuffer());
}

function faultOf(request: Request, status: number, origin: string): Error | undefined {
  if (request.redirect === "error" && status >= 300 && status < 400 && status !== 304) {
    return new FetchFailed("invalid_response", `${origin} redirects, which is not expected here.`);
  }
  if (status >= 200 && status < 600) return undefined;
  return new FetchFailed("invalid_response", `${origin} answers with the status ${status}.`);
}
