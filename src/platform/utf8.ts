import { TextDecoder } from "node:util";
import iconv from "iconv-lite";
import { isUtf16 } from "./parsing/decode-text.ts";
import { guessEncoding } from "./parsing/guess-encoding.ts";

/** Bytes that are examined to detect a text's encoding. */
const PROBE_BYTES = 1024 * 1024;

const MARKED_BYTES = 2048;

/** Thrown if a text is not in the encoding that its beginning suggests. */
export class NotUtf8 extends Error {
  constructor() {
    super(
      `The file begins as UTF-8 but contains other bytes after the first ${PROBE_BYTES}: it may be Windows-1252 (Latin-1). Save it as UTF-8.`,
    );
    this.name = "NotUtf8";
  }
}

/**
 * Converts a text to UTF-8 from any encoding: UTF-16 by its mark or its zeros, UTF-8 if its beginning is valid UTF-8, otherwise the result
 * of `guessEncoding`, or Windows-1252. Throws NotUtf8.
 */
export async function* asUtf8(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  let decode: ((part: Buffer) => Buffer) | undefined;
  const begin = (isWhole: boolean): Buffer => {
    const probe = Buffer.concat(parts);
    decode = decoderOf(probe, isWhole);
    return decode(probe);
  };
  for await (const part of content) {
    if (decode !== undefined) yield decode(part);
    else {
      parts.push(part);
      length += part.length;
      if (length >= PROBE_BYTES) yield begin(false);
    }
  }
  if (decode === undefined) yield begin(true);
}

function decoderOf(probe: Buffer, isWhole: boolean): (part: Buffer) => Buffer {
  // A text without a byte order mark is examined in whole characters.
  if (isUtf16(probe.subarray(0, MARKED_BYTES))) {
    const isBig = probe[0] === 0 || (probe[0] === 0xfe && probe[1] === 0xff);
    const decoder = new TextDecoder(isBig ? "utf-16be" : "utf-16le");
    return (part) => Buffer.from(decoder.decode(part, { stream: true }));
  }
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(probe, { stream: !isWhole });
  } catch {
    const decoder = iconv.getDecoder(guessEncoding(probe) ?? "windows-1252");
    return (part) => Buffer.from(decoder.write(part));
  }
  const checked = new TextDecoder("utf-8", { fatal: true });
  return (part) => {
    try {
      checked.decode(part, { stream: true });
    } catch {
      throw new NotUtf8();
    }
    return part;
  };
}
