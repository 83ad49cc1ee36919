/** Every escape sequence of a JSON text, so that an escaped backslash is never taken for the beginning of another one. */
const ESCAPE = /\\(?:u[0-9a-f]{4}|.)/g;
const REFUSED = /^\\u(?:0000|d[89a-f][0-9a-f]{2})$/;
const REPLACEMENT = "\\ufffd";

/**
 * A value as the text of a jsonb parameter. Postgres cannot hold U+0000 or half of a surrogate pair: both become U+FFFD.
 * Otherwise a node that yields one could never be recorded, and its run never complete.
 */
export function jsonb(value: unknown): string {
  const text = JSON.stringify(value);
  // JSON.stringify escapes a surrogate only where its other half is missing.
  if (!text.includes("\\u0000") && !text.includes("\\ud")) return text;
  return text.replace(ESCAPE, (escape) => (REFUSED.test(escape) ? REPLACEMENT : escape));
}
