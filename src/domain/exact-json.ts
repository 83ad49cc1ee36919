import type { Json } from "./json.ts";

/** Only a text with 16 digits in a row, or with an exponent, can contain an inexact number. */
const MAY_BE_INEXACT = /\d{16}|\d[eE]\+?\d/;
const NUMBER = /-?\d[\d.eE+-]*/g;
/** Unambiguous, so that matching takes linear time. */
const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Whether parsing a JSON number keeps its value. Fractions below 2^53 are rounded as in any JSON parser, which is accepted. Beyond 2^53, a
 * number is exact if it is written as a float and a double has exactly its digits, such as 1e21; a plain integer never is, so that its type
 * does not depend on its last digit.
 */
function isExact(number: string): boolean {
  const value = Number(number);
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return true;
  return Number.isFinite(value) && !/^-?\d+$/.test(number) && decimal(number) === decimal(String(value));
}

/** A number's significant digits and power of ten: the same text for `10`, `1e1` and `10.0`. */
function decimal(number: string): string {
  const [, whole = "", fraction = "", exponent = "0"] = PARTS.exec(number) ?? [];
  const digits = whole + fraction;
  let [from, to] = [0, digits.length];
  while (from < to && digits[from] === "0") from++;
  while (to > from && digits[to - 1] === "0") to--;
  return `${digits.slice(from, to)}e${Number(exponent) - fraction.length + digits.length - to}`;
}

/** Whether a text is a number that parsing as JSON would change. `parseExactJson` keeps such numbers as text. */
export function isLongNumber(text: string): boolean {
  return PARTS.test(text) && !/^-?0\d/.test(text) && !isExact(text);
}

/**
 * Parses JSON text so that no number is silently changed: integers beyond 2^53 and numbers too large for a double become
 * text with the same digits. Throws SyntaxError as JSON.parse does.
 */
export function parseExactJson(text: string): Json {
  return parseBoth(text).exact;
}

/** The JSON value of a text, without changing a number; the text itself if it is not JSON. */
export function jsonOrText(text: string): Json {
  try {
    return parseExactJson(text);
  } catch {
    return text;
  }
}

/** The value as JSON.parse reads it, and with exact numbers; the same object twice if no number differs. */
export function parseBoth(text: string): { readonly plain: Json; readonly exact: Json } {
  const plain = JSON.parse(text) as Json;
  const exact = exactJsonText(text);
  return { plain, exact: exact === text ? plain : (JSON.parse(exact) as Json) };
}

/** The same JSON text with every inexact number as a string. Strings are skipped with indexOf, because they may be megabytes of base64. */
export function exactJsonText(text: string): string {
  if (!MAY_BE_INEXACT.test(text)) return text;
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    const plain = text.slice(at, quote === -1 ? text.length : quote);
    parts.push(plain.replace(NUMBER, (number) => (isExact(number) ? number : `"${number}"`)));
    if (quote === -1) break;
    at = endOfString(text, quote);
    parts.push(text.slice(quote, at));
  }
  return parts.join("");
}

/** The end of the string that begins at `quote`: after the next unescaped quote. */
function endOfString(text: string, quote: number): number {
  for (let end = quote; ;) {
    end = text.indexOf('"', end + 1);
    let escapes = 0;
    while (text[end - 1 - escapes] === "\\") escapes++;
    if (end === -1 || escapes % 2 === 0) return end === -1 ? text.length : end + 1;
  }
}
