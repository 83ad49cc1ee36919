import { TextDecoder } from "node:util";
import iconv from "iconv-lite";
import { DocumentError } from "./errors.ts";
import { guessEncoding } from "./guess-encoding.ts";

/** Bytes examined to detect UTF-16 without a byte order mark, and the `<meta>` of a page. */
const PROBE_BYTES = 2048;

/**
 * Decodes a text file like `decodeBytes`, with "\n" as line end. Throws DocumentError: `document_broken` if it is not text,
 * `charset_unknown` if its encoding cannot be detected.
 */
export function decodeText(bytes: Uint8Array, charset: string | null): string {
  const text = decode(bytes, charset);
  if (isBinary(text ?? Buffer.from(bytes.subarray(0, SAMPLE)).toString("latin1")))
    throw new DocumentError("document_broken", "The file is not text, although its name says so.");
  if (text === null) {
    const message = "The character encoding cannot be detected. Save the file as UTF-8, or declare its charset.";
    throw new DocumentError("charset_unknown", message);
  }
  return text.replace(/\r\n?/g, "\n");
}

/**
 * Decodes bytes that are text. A byte order mark decides, then the declared charset (any label of the Encoding standard), then the bytes
 * themselves: UTF-16 by its zeros, UTF-8 if they are valid UTF-8, then the result of `guessEncoding`, and finally Windows-1252. Valid UTF-8
 * that is declared as Latin-1 is read as UTF-8, because servers declare Latin-1 for every file. Invalid bytes become U+FFFD.
 */
export function decodeBytes(bytes: Uint8Array, charset: string | null): string {
  return decode(bytes, charset) ?? decodeAs(WINDOWS_1252, bytes);
}

/** `null` if the encoding is not declared and cannot be detected. */
function decode(bytes: Uint8Array, charset: string | null): string | null {
  const marked = byteOrderMark(bytes);
  if (marked !== null) return new TextDecoder(marked).decode(bytes);
  const declared = charset === null ? null : encodingOf(charset);
  if (declared !== null && declared !== WINDOWS_1252) return decodeAs(declared, bytes);
  const zeros = unmarkedUtf16(bytes);
  if (zeros !== null && declared === null) return new TextDecoder(zeros).decode(bytes);
  const utf8 = asUtf8(bytes);
  if (utf8 !== null) return utf8;
  const told = declared ?? guessEncoding(bytes);
  return told === null ? null : decodeAs(told, bytes);
}

/** The charset of a Content-Type, or of an HTML page's `<meta>`; null if none is named. */
export function charsetIn(text: string): string | null {
  return /\bcharset\s*=\s*["']?([\w:.-]{1,40})/i.exec(text)?.[1] ?? null;
}

/** The charset that an HTML page itself declares; null if it declares none. */
export function charsetOfPage(bytes: Uint8Array): string | null {
  const named = charsetIn(Buffer.from(bytes.subarray(0, PROBE_BYTES)).toString("latin1"));
  // A tag that can be read byte by byte is not in UTF-16, whatever it declares.
  return named !== null && /^utf-?16/i.test(named) ? "utf-8" : named;
}

/** Whether the bytes begin like UTF-16, with or without a byte order mark. */
export function isUtf16(bytes: Uint8Array): boolean {
  return byteOrderMark(bytes)?.startsWith("utf-16") ?? unmarkedUtf16(bytes) !== null;
}

/** Removes characters that neither JSON nor Postgres text can hold, and characters that no reader would see. */
export function withoutControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what it is about
  return text.replace(/[\u0000-\u0008\u000b\u000e-\u001f\u007f]/g, "");
}

const WINDOWS_1252 = "windows-1252";

/** The Encoding standard's name for a label (its `latin1` is windows-1252); null for an unknown label. */
function encodingOf(label: string): string | null {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return null;
  }
}

/** Decoded by iconv-lite, because Node 20's decoder treats windows-1252 as Latin-1; encodings that iconv-lite lacks are decoded by Node. */
function decodeAs(encoding: string, bytes: Uint8Array): string {
  const isUnicode = encoding.startsWith("utf-");
  const name = encoding === "gbk" ? "gb18030" : encoding;
  if (isUnicode || !iconv.encodingExists(name)) return new TextDecoder(encoding).decode(bytes);
  return iconv.decode(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), name);
}

function asUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function byteOrderMark([first, second, third]: Uint8Array): string | null {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return null;
}

/**
 * UTF-16 text of mostly ASCII characters has zeros at every other byte, and hardly any elsewhere. Text of other scripts contains many
 * control characters if its bytes are read one by one, and mostly one script if they are read as UTF-16.
 */
function unmarkedUtf16(bytes: Uint8Array): string | null {
  const probe = bytes.subarray(0, PROBE_BYTES - (PROBE_BYTES % 2));
  if (bytes.length < 4 || bytes.length % 2 === 1) return null;
  let even = 0;
  let odd = 0;
  for (let at = 0; at < probe.length; at += 2) {
    if (probe[at] === 0) even++;
    if (probe[at + 1] === 0) odd++;
  }
  const pairs = probe.length / 2;
  if (odd > pairs * 0.6 && even === 0) return "utf-16le";
  if (even > pairs * 0.6 && odd === 0) return "utf-16be";
  // oxlint-disable-next-line no-control-regex -- control characters are what it is about
  if (!/[\u0000-\u0007\u000e-\u001a\u001c-\u001f]/.test(Buffer.from(probe).toString("latin1"))) return null;
  return ["utf-16le", "utf-16be"].find((each) => isOneScript(new TextDecoder(each).decode(probe))) ?? null;
}

/** Characters that occur in texts of every script: ASCII, accented letters, punctuation. */
const COMMON = /[\t\n\f\r -~\u00a0-\u017f\u2010-\u2027\u2116\u3000-\u303f\uff00-\uffef]/g;
const SCRIPTS = [
  /\p{Script=Cyrillic}/gu,
  /\p{Script=Greek}/gu,
  /\p{Script=Hebrew}/gu,
  /\p{Script=Arabic}/gu,
  /\p{Script=Devanagari}/gu,
  /\p{Script=Thai}/gu,
  /\p{Script=Hangul}/gu,
  /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\u30fc/gu,
];

/** Fewer characters of a script occur in any bytes: "nul\0" reads as a Chinese sign and a letter. */
const MIN_OF_SCRIPT = 4;

function isOneScript(text: string): boolean {
  const common = text.match(COMMON)?.length ?? 0;
  const own = Math.max(...SCRIPTS.map((script) => text.match(script)?.length ?? 0));
  return own >= MIN_OF_SCRIPT && common + own >= text.length * 0.95;
}

const SAMPLE = 64 * 1024;

/** Text has hardly any control characters: a stray NUL, a form feed or an escape sequence of a log. */
export function isBinary(text: string): boolean {
  const sample = text.slice(0, SAMPLE);
  // oxlint-disable-next-line no-control-regex -- control characters are what it is about
  const controls = sample.match(/[\u0000-\u0007\u000e-\u001a\u001c-\u001f\u007f]/g)?.length ?? 0;
  return controls > 4 + sample.length / 100;
}
