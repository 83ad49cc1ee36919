import { Readable } from "node:stream";
import type { Agent, Dispatcher } from "undici";
import { linkAbort } from "../linked-abort.ts";
import type { LinkedAbort } from "../linked-abort.ts";
import { FetchFailed, FetchRefused } from "./guarded-fetch-errors.ts";
import { isStream } from "./guarded-fetch-request.ts";
import type { Hop } from "./guarded-fetch-request.ts";

/** Limits of one hop. */
export interface HopLimits {
  /** Longest body that is sent as a stream. Default 25 MiB. */
  readonly requestBytes: number;
  /** Longest wait for the answer's headers of one hop; of a streamed request, longest silence until they come. Default 60 s. */
  readonly headersMs: number;
  /** Longest silence inside a body. Default 30 s. */
  readonly bodyMs: number;
}

/** A streamed body that is being sent. */
export interface Source {
  readonly stream: Readable;
  /** Its own error, which is not one of the connection. */
  failed?: { readonly error: unknown };
}

export function readableOf(body: AsyncIterable<Uint8Array>): Source {
  let stream: Readable;
  if (body instanceof Readable) stream = body;
  else if (body instanceof ReadableStream) stream = Readable.fromWeb(body);
  else stream = Readable.from(body, { objectMode: false });
  // Whoever reads it gets the error; without a listener it would end the process where nobody does any more.
  stream.on("error", () => undefined);
  return { stream };
}

/** The chunks of a streamed body. Neither they nor the answer after them may be longer in coming than `headersMs`. */
function paced(source: Source, { url: { origin } }: Hop, limits: HopLimits, deadline: LinkedAbort) {
  const late = () =>
    deadline.abort(new FetchFailed("timeout", `${origin}: nothing was sent or answered for ${limits.headersMs} ms.`));
  const silence = setTimeout(late, limits.headersMs);
  deadline.signal.addEventListener("abort", () => clearTimeout(silence), { once: true });
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let room = limits.requestBytes;
    try {
      for await (const chunk of source.stream as AsyncIterable<Uint8Array>) {
        room -= chunk.byteLength;
        if (room < 0) {
          const message = `More than ${limits.requestBytes} bytes are not sent to ${origin}.`;
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

/** Sends one hop; resolves once the headers of its answer are there. */
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
    // Its clock would run from the first chunk of a streamed body on.
    headersTimeout: streamed ? 0 : limits.headersMs,
    bodyTimeout: limits.bodyMs,
    signal,
  });
  const answer = await unlessAborted(answered, signal);
  streamed?.answered();
  // Without a listener an error of an unread body would crash the process; readers get the error regardless.
  answer.body.on("error", () => undefined);
  return answer;
}

/** Undici heeds the signal only once it is connected: not while a name is being resolved or nobody takes the connection. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (stop) signal.removeEventListener("abort", stop);
    promise.catch(() => undefined);
  }
}

/** When a request ends, whatever it is doing; the reason says which origin was late. */
export function startDeadline(outer: AbortSignal | undefined, ms: number, origin: string): LinkedAbort {
  const linked = linkAbort(outer ? [outer] : []);
  const late = () => linked.abort(new FetchFailed("timeout", `${origin} did not answer completely within ${ms} ms.`));
  const timer = ms === Infinity ? undefined : setTimeout(late, ms);
  return {
    ...linked,
    end() {
      clearTimeout(timer);
      linked.end();
      // Drops what is still under way: the rest of a redirect's body, or of one that was cut short.
      linked.abort();
    },
  };
}
