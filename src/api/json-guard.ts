import type { ValidationIssue } from "../domain/errors.ts";

export const MAX_JSON_DEPTH = 100;
/** Members and items in all. A million small objects take some hundred MB; the byte limits alone would allow ten times that. */
export const MAX_JSON_VALUES = 1_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;

/** Says why a JSON text should not even be parsed (too deep, too many values), or null. It need not be valid JSON. */
export function checkJsonShape(bytes: Uint8Array): string | null {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at + 1);
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      if (++depth > MAX_JSON_DEPTH) return `The body nests deeper than ${MAX_JSON_DEPTH} levels`;
      if (++values > MAX_JSON_VALUES) return `The body has more than ${MAX_JSON_VALUES} values`;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      depth--;
    } else if (byte === COMMA && ++values > MAX_JSON_VALUES) {
      return `The body has more than ${MAX_JSON_VALUES} values`;
    }
  }
  return null;
}

/** Index of the quote that ends the string begun before `from`; native search makes base64 inputs of many MB cheap. */
function endOfString(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let escapes = 0;
    while (at - 1 - escapes >= from && bytes[at - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return bytes.length;
}

/**
 * Finds what no part of the service may meet: a member named `__proto__` (it replaces the prototype wherever it is
 * assigned), and text that Postgres cannot hold (U+0000, half a surrogate pair). Null when there is none.
 */
export function findForbidden(value: unknown, bytes: Buffer, looseTop: boolean): ValidationIssue | null {
  // All of these need an escape or the plain word; without either the walk is spared.
  if (!bytes.includes("\\u") && !bytes.includes("__proto__")) return null;
  const loc: Array<string | number> = ["body"];
  return walk(value, loc, looseTop);
}

function walk(value: unknown, loc: Array<string | number>, loose: boolean): ValidationIssue | null {
  if (typeof value === "string") return isStorable(value) ? null : issue(loc, TEXT_MESSAGE, "string_unicode");
  if (typeof value !== "object" || value === null) return null;
  // Depth is bounded by checkJsonShape, so recursion is safe.
  for (const [key, member] of Object.entries(value)) {
    loc.push(Array.isArray(value) ? Number(key) : key);
    if (key === "__proto__" && !loose) return issue(loc, "This name is not allowed", "value_error");
    if (!isStorable(key)) return issue(loc.slice(0, -1), TEXT_MESSAGE, "string_unicode");
    const found = walk(member, loc, false);
    if (found) return found;
    loc.pop();
  }
  return null;
}

/** With the u flag a whole pair is one character, so only halves match. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const TEXT_MESSAGE = "Text must not contain U+0000 or half of a surrogate pair";

function issue(loc: ReadonlyArray<string | number>, msg: string, type: string): ValidationIssue {
  return { loc: [...loc], msg, type };
}

/** Whether Postgres can hold the text. */
export function isStorable(text: string): boolean {
  return !text.includes("\u0000") && !LONE_SURROGATE.test(text);
}
