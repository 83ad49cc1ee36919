import { TextDecoder } from "node:util";
import { DocumentError } from "./errors.ts";

/**
 * Decodes a text file. A byte order mark decides; then valid UTF-8 is UTF-8; then the declared encoding counts (any
 * label of the Encoding standard); the rest is Windows-1252, the superset of Latin-1 that such files are in. Line ends
 * become "\n". Throws DocumentError `document_broken` for what is no text.
 */
export function decodeText(bytes: Uint8Array, declaredCharset: string | null): string {
  const text = decode(bytes, declaredCharset).replace(/\r\n?/g, "\n");
  if (isBinary(text)) throw new DocumentError("document_broken", "The file is not text, although its name says so.");
  return text;
}

/** The charset of a Content-Type, or of an HTML page's `<meta>`; null where none is named. */
export function charsetIn(text: string): string | null {
  return /\bcharset\s*=\s*["']?([\w:.-]{1,40})/i.exec(text)?.[1] ?? null;
}

/** Removes what neither JSON nor Postgres text can hold, or what no reader would see. */
export function withoutControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what it is about
  return text.replace(/[\u0000-\u0008\u000b\u000e-\u001f\u007f]/g, "");
}

function decode(bytes: Uint8Array, declaredCharset: string | null): string {
  const marked = byteOrderMark(bytes);
  if (marked !== undefined) return new TextDecoder(marked).decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return (declaredCharset === null ? undefined : decoder(declaredCharset)?.decode(bytes)) ?? latin(bytes);
  }
}

function byteOrderMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return undefined;
}

function decoder(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}

function latin(bytes: Uint8Array): string {
  return new TextDecoder("windows-1252").decode(bytes);
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
