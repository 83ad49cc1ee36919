import { Readable } from "node:stream";
import type { Agent, Dispatcher } from "undici";
import { limitedSignal, unlessAborted, type LinkedAbort } from "../linked-abort.ts";
import { FetchFailed, FetchRefused } from "./guarded-fetch-errors.ts";
import { isStream, type Hop } from "./guarded-fetch-request.ts";

/** Limits of one hop. */
export interface HopLimits {
  /** Longest body that is sent as a stream. Default 25 MiB. */
  readonly requestBytes: number;
  /** Longest wait for the response headers of one hop; for a streamed request, the longest silence until they arrive. Default 60 s. */
  readonly headersMs: number;
  /** Longest silence inside a body. Default 30 s. */
  readonly bodyMs: number;
}

/** A streamed body that is being sent. */
export interface Source {
  readonly stream: Readable;
  /** The error of the stream itself, not of the connection. */
  failed?: { readonly error: unknown };
}

export function readableOf(body: AsyncIterable<Uint8Array>): Source {
  let stream: Readable;
  if (body instanceof Readable) stream = body;
  else if (body instanceof ReadableStream) stream = Readable.fromWeb(body);
  else stream = Readable.from(body, { objectMode: false });
  // Without a listener, an error of an unread stream would crash the process.
  stream.on("error", () => undefined);
  return { stream };
}

/** The chunks of a streamed body. Each chunk, and the response after the last one, must arrive within `headersMs`. */
function paced(source: Source, { url: { origin } }: Hop, limits: HopLimits, deadline: LinkedAbort) {
  const late = () =>
    deadline.abort(new FetchFailed("timeout", `${origin}: nothing was sent or received for ${limits.headersMs} ms.`));
  const silence = setTimeout(late, limits.headersMs);
  deadline.signal.addEventListener("abort", () => clearTimeout(silence), { once: true });
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let room = limits.requestBytes;
    try {
      for await (const chunk of source.stream as AsyncIterable<Uint8Array>) {
        room -= chunk.byteLength;
        if (room < 0) {
          const message = `Requests of more than ${limits.requestBytes} bytes are not sent to ${origin}.`;
          throw new FetchRefused("request_too_large", message);
        }
        silence.refresh();
        yield chunk;
      }
    } catch (error) {
      source.failed = { error };
      throw error;
    }
  }
  return { chunks: chunks(), answered: () => clearTimeout(silence) };
}

/** Sends one hop; resolves once the response headers have arrived. */
export async function sendHop(
  agent: Agent,
  hop: Hop,
  source: Source | undefined,
  limits: HopLimits,
  deadline: LinkedAbort,
): Promise<Dispatcher.ResponseData> {
  const { signal } = deadline;
  const streamed = isStream(hop.body) && source ? paced(source, hop, limits, deadline) : undefined;
  const answered = agent.request({
    origin: hop.url.origin,
    path: hop.url.pathname + hop.url.search,
    method: hop.method,
    headers: Object.fromEntries(hop.headers),
    body: streamed
      ? Readable.from(streamed.chunks, { objectMode: false })
      : ((hop.body ?? null) as string | Uint8Array | null),
    // Disabled for streamed bodies, because undici's timer would start with the first chunk.
    headersTimeout: streamed ? 0 : limits.headersMs,
    bodyTimeout: limits.bodyMs,
    signal,
  });
  // Undici honours the signal only once it is connected, not while a name is being resolved or the connection is being accepted.
  const answer = await unlessAborted(signal, answered);
  streamed?.answered();
  // Without a listener, an error of an unread body would crash the process; readers get the error regardless.
  answer.body.on("error", () => undefined);
  return answer;
}

/** The deadline of a request in any phase; the reason names the origin that was late. */
export function startDeadline(outer: AbortSignal | undefined, ms: number, origin: string): LinkedAbort {
  const late = () => new FetchFailed("timeout", `${origin} did not respond completely within ${ms} ms.`);
  const linked = limitedSignal(outer ? [outer] : [], ms, late);
  return {
    ...linked,
    end() {
      linked.end();
      // Aborts what is still in progress: the rest of a redirect's body, or of a body that was cut short.
      linked.abort();
    },
  };
}
