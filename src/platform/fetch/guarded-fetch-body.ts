import { pipeline, type Duplex } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { holdAnswer, SHORT_ANSWER_BYTES } from "./held-answers.ts";
import { FetchFailed } from "./guarded-fetch-errors.ts";

/** Content codings that the guarded fetch decodes; sent as Accept-Encoding. */
export const ACCEPTED_ENCODINGS = "gzip, deflate, br";

export interface BodyOptions {
  /** Origin named in error messages. */
  readonly origin: string;
  readonly contentEncoding: string | undefined;
  /** Bytes allowed on the wire and, counted separately, after decompression. */
  readonly limit: number;
  /** Whether a body that exceeds the limit or breaks off is rejected, or the part that was read is kept. */
  readonly incomplete: "fail" | "keep";
}

/** The part of a body that was read. */
export interface ReadBody {
  readonly body: Buffer;
  readonly truncated: boolean;
  /** Why an incomplete body that is kept broke off: a FetchFailed, or the source's error. */
  readonly broken?: unknown;
}

/**
 * Reads and decompresses a whole body. Never holds more than the limit and a few chunks, at any compression ratio; reading a long body
 * waits for a slot. Rejects with FetchFailed, or with the error of the source.
 */
export async function readBody(
  source: AsyncIterable<Uint8Array>,
  options: BodyOptions,
  signal?: AbortSignal,
): Promise<ReadBody> {
  const { wire, plain } = uncut();
  const kept: Uint8Array[] = [];
  const read = (): ReadBody => ({ body: Buffer.concat(kept), truncated: wire.reached || plain.reached });
  try {
    let length = 0;
    for await (const chunk of plainBody(source, options, { wire, plain })) {
      kept.push(chunk);
      length += chunk.byteLength;
      if (length > SHORT_ANSWER_BYTES) await holdAnswer(signal);
    }
    return read();
  } catch (broken) {
    if (options.incomplete === "fail") throw broken;
    return { ...read(), broken };
  }
}

/** Decompresses a body chunk by chunk, as it arrives. Throws FetchFailed, or the error of the source. */
export function plainBody(
  source: AsyncIterable<Uint8Array>,
  options: BodyOptions,
  { wire, plain } = uncut(),
): AsyncGenerator<Uint8Array> {
  return cutAt(decoded(cutAt(source, options, wire), options, wire), options, plain);
}

/** The error of a body beyond its limit. */
export function tooLarge(options: { readonly origin: string; readonly limit: number }): FetchFailed {
  return new FetchFailed(
    "response_too_large",
    `The response of ${options.origin} is larger than ${options.limit} bytes.`,
  );
}

/** Whether a stream exceeded the limit. */
interface Cut {
  reached: boolean;
}

const uncut = (): { readonly wire: Cut; readonly plain: Cut } => ({
  wire: { reached: false },
  plain: { reached: false },
});

async function* cutAt(source: AsyncIterable<Uint8Array>, options: BodyOptions, cut: Cut): AsyncGenerator<Uint8Array> {
  let room = options.limit;
  for await (const chunk of source) {
    if (chunk.byteLength > room) {
      cut.reached = true;
      if (options.incomplete === "fail") throw tooLarge(options);
      yield chunk.subarray(0, room);
      return;
    }
    room -= chunk.byteLength;
    yield chunk;
  }
}

async function* decoded(
  source: AsyncGenerator<Uint8Array>,
  options: BodyOptions,
  wire: Cut,
): AsyncGenerator<Uint8Array> {
  const coding = (options.contentEncoding ?? "").trim().toLowerCase();
  if (coding === "" || coding === "identity") return yield* source;
  if (!["gzip", "x-gzip", "deflate", "br"].includes(coding)) {
    await source.return(undefined);
    // Lists of codings are refused too: they are not used in practice, and each would multiply the work of a bomb.
    throw new FetchFailed(
      "unsupported_encoding",
      `The response of ${options.origin} has a content encoding that is not supported.`,
    );
  }
  const first = await source.next();
  if (first.done === true) return;
  const decoder = decoderFor(coding, first.value);
  // An upstream error destroys the decoder, so the loop below throws it.
  pipeline(prepend(first.value, source), decoder, () => undefined);
  try {
    for await (const chunk of decoder) yield chunk as Buffer;
  } catch (error) {
    // Compressed data that was cut off has no valid end.
    if (!wire.reached || options.incomplete === "fail") throw error;
  } finally {
    // Closes the pipeline, and through it the source, when the reader stops early.
    decoder.destroy();
  }
}

async function* prepend(first: Uint8Array, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}

function decoderFor(coding: string, first: Uint8Array): Duplex {
  if (coding === "br") return createBrotliDecompress();
  if (coding !== "deflate") return createGunzip();
  // Some servers send "deflate" with a zlib header, others without; the low bits of the first byte show which.
  return ((first[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw();
}
