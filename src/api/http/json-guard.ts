import { nextSlice } from "../../platform/slices.ts";
import type { ValidationIssue } from "../../domain/errors.ts";

export const MAX_JSON_DEPTH = 100;
/** Most fields and items in total: they determine the cost of parsing and checking a body more than its bytes do. */
export const MAX_JSON_VALUES = 10_000;
/**
 * Most fields and items of bodies that contain a run's inputs, a flow or an import. A flow that is one list of this size has as many values
 * as a flow may have.
 */
export const MAX_WIDE_JSON_VALUES = 500_000;
/** Values that are checked in one slice of the event loop. */
const VALUES_AT_ONCE = 10_000;
/** Bytes that are searched in one slice: 3 ms in the worst case. */
const BYTES_AT_ONCE = 256 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
const SMALL_E = 0x65;
/** OR-ing this bit lower-cases an ASCII letter. */
const CASE = 0x20;
/** A number with fewer digits is never rounded when it is read. */
const INEXACT_DIGITS = 16;

/**
 * Detects, while a JSON text arrives, why it must not be parsed: too deep, or too many values. The text need not be valid JSON. Between
 * chunks the event loop serves other requests.
 */
export class JsonShape {
  #depth = 0;
  #values = 0;
  #inString = false;
  /** 1 if a chunk ended between a backslash and the escaped character. */
  #skip = 0;
  #problem: string | null = null;
  /** Consecutive digits up to here, outside of strings. */
  #digits = 0;
  #mayBeInexact = false;
  readonly #maxValues: number;

  constructor(maxValues: number) {
    this.#maxValues = maxValues;
  }

  /** What is wrong with the text read so far. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Whether a number has so many digits, or an exponent, that reading it might change its value. */
  get mayBeInexact(): boolean {
    return this.#mayBeInexact;
  }

  read(chunk: Uint8Array): void {
    if (this.#problem !== null) return;
    let digits = this.#digits;
    let depth = this.#depth;
    let values = this.#values;
    let inString = this.#inString;
    let at = this.#skip;
    // Native search makes long strings, such as base64 of many MB, cheap.
    const isPlain = !chunk.includes(BACKSLASH);
    for (; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      const before = digits;
      digits = 0;
      if (inString && isPlain) {
        const end = chunk.indexOf(QUOTE, at);
        inString = end === -1;
        at = inString ? chunk.length - 1 : end;
      } else if (inString) {
        if (byte === BACKSLASH) at++;
        else if (byte === QUOTE) inString = false;
      } else if (byte === QUOTE) {
        inString = true;
      } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        values++;
        if (++depth > MAX_JSON_DEPTH) break;
      } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
        depth--;
      } else if (byte === COMMA) {
        values++;
      } else if (byte >= ZERO && byte <= NINE) {
        digits = before + 1;
        if (digits >= INEXACT_DIGITS) this.#mayBeInexact = true;
      } else if (before > 0 && (byte | CASE) === SMALL_E) {
        this.#mayBeInexact = true;
      }
    }
    this.#digits = digits;
    if (depth > MAX_JSON_DEPTH) this.#problem = `The body is nested deeper than ${MAX_JSON_DEPTH} levels`;
    else if (values > this.#maxValues) this.#problem = `The body has more than ${this.#maxValues} values`;
    this.#depth = depth;
    this.#values = values;
    this.#inString = inString;
    this.#skip = at - chunk.length;
  }
}

/**
 * Finds values that no part of Millrace accepts: a field named `__proto__` (it replaces the prototype when it is assigned), and text that
 * Postgres cannot store (U+0000, half a surrogate pair). Null if there is none.
 */
export async function findForbidden(value: unknown, bytes: Buffer, looseTop: boolean): Promise<ValidationIssue | null> {
  // All of these values need an escape or the plain word, so a text with neither needs no walk.
  if (!(await holds(bytes, ["\\u", "__proto__"]))) return null;
  const steps = walk(value, ["body"], looseTop, { left: VALUES_AT_ONCE });
  for (;;) {
    const { done, value: found } = steps.next();
    if (done) return found;
    await nextSlice();
  }
}

/** Checks a value of a short text, without pauses. */
export function findForbiddenAtOnce(value: unknown): ValidationIssue | null {
  return walk(value, [], false, { left: Infinity }).next().value;
}

/**
 * Whether the bytes contain one of these. Searches one slice at a time, because the search is slow in bytes that repeat a needle's first
 * byte.
 */
async function holds(bytes: Buffer, needles: readonly string[]): Promise<boolean> {
  const overlap = Math.max(...needles.map((needle) => needle.length)) - 1;
  for (let at = 0; at < bytes.length; at += BYTES_AT_ONCE) {
    if (at > 0) await nextSlice();
    const part = bytes.subarray(at, at + BYTES_AT_ONCE + overlap);
    if (needles.some((needle) => part.includes(needle))) return true;
  }
  return false;
}

/** Walks a value and yields each time a slice is used up. */
function* walk(
  value: unknown,
  loc: Array<string | number>,
  loose: boolean,
  slice: { left: number },
): Generator<null, ValidationIssue | null> {
  if (typeof value === "string") return unstorableIssue(value, loc);
  if (typeof value !== "object" || value === null) return null;
  const isList = Array.isArray(value);
  // Depth is bounded by JsonShape, so recursion is safe.
  for (const key of isList ? value.keys() : Object.keys(value)) {
    if (--slice.left === 0) {
      slice.left = VALUES_AT_ONCE;
      yield null;
    }
    loc.push(key);
    if (key === "__proto__" && !loose) return issue(loc, "This field name is not allowed", "value_error");
    if (typeof key === "string" && !isStorable(key)) return issue(loc.slice(0, -1), TEXT_MESSAGE, "string_unicode");
    const item = (value as Record<string | number, unknown>)[key];
    const found = typeof item === "object" || typeof item === "string" ? yield* walk(item, loc, false, slice) : null;
    if (found) return found;
    loc.pop();
  }
  return null;
}

const TEXT_MESSAGE = "Text must not contain U+0000 or half of a surrogate pair";

function issue(loc: ReadonlyArray<string | number>, msg: string, type: string): ValidationIssue {
  return { loc: [...loc], msg, type };
}

/** Why Postgres cannot store a text; null if it can. */
export function unstorableIssue(text: string, loc: ReadonlyArray<string | number>): ValidationIssue | null {
  return isStorable(text) ? null : issue(loc, TEXT_MESSAGE, "string_unicode");
}

/** Whether Postgres can store the text. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\u0000");
}
