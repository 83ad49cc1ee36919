import { TextDecoder } from "node:util";
import iconv from "iconv-lite";
import { DocumentError } from "./errors.ts";
import { japaneseEncoding } from "./japanese-text.ts";

/** Bytes looked at to tell UTF-16 without a mark, and for the `<meta>` of a page. */
const PROBE_BYTES = 2048;

/**
 * Decodes a text file as `decodeBytes` does, with "\n" as line end. Throws DocumentError `document_broken` if it is
 * not text.
 */
export function decodeText(bytes: Uint8Array, charset: string | null): string {
  const text = decodeBytes(bytes, charset).replace(/\r\n?/g, "\n");
  if (isBinary(text)) throw new DocumentError("document_broken", "The file is not text, although its name says so.");
  return text;
}

/**
 * Decodes bytes that are text. A byte order mark decides, then the declared charset (any label of the Encoding standard),
 * then what the bytes are: UTF-16 by its zeros, UTF-8 where they are valid as such, Japanese, else Windows-1252. Valid UTF-8 that is
 * declared as a Latin-1 is UTF-8 all the same: servers say so of every file they have. Bytes that have no meaning become
 * U+FFFD.
 */
export function decodeBytes(bytes: Uint8Array, charset: string | null): string {
  const marked = byteOrderMark(bytes);
  if (marked !== null) return new TextDecoder(marked).decode(bytes);
  const declared = charset === null ? null : encodingOf(charset);
  if (declared !== null && declared !== WINDOWS_1252) return decodeAs(declared, bytes);
  const zeros = unmarkedUtf16(bytes);
  if (zeros !== null && declared === null) return new TextDecoder(zeros).decode(bytes);
  return asUtf8(bytes) ?? decodeAs((declared === null ? japaneseEncoding(bytes) : null) ?? WINDOWS_1252, bytes);
}

/** The charset of a Content-Type, or of an HTML page's `<meta>`; null where none is named. */
export function charsetIn(text: string): string | null {
  return /\bcharset\s*=\s*["']?([\w:.-]{1,40})/i.exec(text)?.[1] ?? null;
}

/** The charset that an HTML page names itself; null where it names none. */
export function charsetOfPage(bytes: Uint8Array): string | null {
  const named = charsetIn(Buffer.from(bytes.subarray(0, PROBE_BYTES)).toString("latin1"));
  // A tag that can be read byte by byte cannot be in UTF-16, whatever it declares.
  return named !== null && /^utf-?16/i.test(named) ? "utf-8" : named;
}

/** Whether the bytes begin as UTF-16 does, with a mark or without. */
export function isUtf16(bytes: Uint8Array): boolean {
  return byteOrderMark(bytes)?.startsWith("utf-16") ?? unmarkedUtf16(bytes) !== null;
}

/** Removes what neither JSON nor Postgres text can hold, or what no reader would see. */
export function withoutControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what it is about
  return text.replace(/[\u0000-\u0008\u000b\u000e-\u001f\u007f]/g, "");
}

const WINDOWS_1252 = "windows-1252";

/** The Encoding standard's name for a label (its `latin1` is windows-1252); null for none of its labels. */
function encodingOf(label: string): string | null {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return null;
  }
}

/** By iconv-lite, as Node's own decoder takes windows-1252 for Latin-1 (Node 20); what iconv-lite does not have is Node's. */
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

/** Text of mostly ASCII characters in UTF-16 has zeros in every other place, and hardly any in the others. */
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
  return null;
}

const SAMPLE = 64 * 1024;

/** Text has no NUL, and hardly any other control characters (a form feed or an escape sequence of a log is fine). */
function isBinary(text: string): boolean {
  if (text.includes("\0")) return true;
  const sample = text.slice(0, SAMPLE);
  // oxlint-disable-next-line no-control-regex -- control characters are what it is about
  const controls = sample.match(/[\u0001-\u0007\u000e-\u001a\u001c-\u001f\u007f]/g)?.length ?? 0;
  return controls > 4 + sample.length / 100;
}
