import type { Json } from "./json.ts";

/** Only a text with so many digits, or with such an exponent, can have a number that is not exact. */
const MAY_BE_INEXACT = /\d{16}|[eE]\+?\d{3}/;
/** An escape, a quote or a number: enough to know which numbers stand outside of strings. */
const TOKEN = /\\[^]|"|-?\d[\d.eE+-]*/g;

/** Fractions are rounded as everywhere; a whole number is kept to the last digit, and one that is too large is none. */
const isExact = (number: string): boolean =>
  /^-?\d+$/.test(number) ? Number.isSafeInteger(Number(number)) : Number.isFinite(Number(number));

/**
 * Parses JSON text so that no number is silently changed: integers beyond 2^53 and numbers too large for a double become
 * text with the same digits. Throws SyntaxError as JSON.parse does.
 */
export function parseExactJson(text: string): Json {
  const value = JSON.parse(text) as Json;
  if (!MAY_BE_INEXACT.test(text)) return value;
  let inString = false;
  let changed = false;
  const exact = text.replace(TOKEN, (token) => {
    if (token === '"') inString = !inString;
    else if (!inString && !token.startsWith("\\") && !isExact(token)) {
      changed = true;
      return `"${token}"`;
    }
    return token;
  });
  return changed ? (JSON.parse(exact) as Json) : value;
}
