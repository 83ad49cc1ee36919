import { NodeFailure } from "../../runs/failure.ts";
import type { Json } from "../../json.ts";
import { isArray, keysOfObject, toStringOf } from "./natives.ts";

/** Deepest value accepted, because walking a deeper one could overflow the stack. */
export const MAX_VALUE_DEPTH = 1_000;

export const tooDeep = (): NodeFailure =>
  new NodeFailure("value_too_large", `The value is nested deeper than ${MAX_VALUE_DEPTH} levels`);

const exactBytes = (text: string): number => {
  let bytes = 2;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20) bytes += unit >= 8 && unit <= 13 && unit !== 11 ? 2 : 6;
    else if (unit === 0x22 || unit === 0x5c) bytes += 2;
    else if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit < 0xd800 || unit > 0xdfff) bytes += 3;
    else if (unit <= 0xdbff && text.charCodeAt(i + 1) >> 10 === 0x37) {
      bytes += 4;
      i++;
    } else bytes += 6;
  }
  return bytes;
};

/** A UTF-16 code unit takes at most 6 bytes of JSON text (an escape such as \u0000). */
const maxBytesOf = (text: string): number => text.length * 6 + 2;

const measure = (value: Json, limit: number, textBytes: (text: string) => number): number => {
  let total = 0;
  const visit = (part: Json, depth: number): void => {
    if (typeof part === "string") {
      // A text that exceeds the limit by its number of characters alone need not be read.
      total += total + part.length > limit ? part.length : textBytes(part);
    } else if (typeof part !== "object" || part === null) {
      total += toStringOf(part).length;
    } else {
      if (depth >= MAX_VALUE_DEPTH) throw tooDeep();
      const isList = isArray(part);
      total += 1;
      const keys = isList ? part : keysOfObject(part);
      for (let i = 0; i < keys.length && total <= limit; i++) {
        total += 1;
        if (isList) visit(part[i] as Json, depth + 1);
        else {
          const key = keys[i] as string;
          total += textBytes(key) + 1;
          visit((part as { readonly [key: string]: Json })[key] as Json, depth + 1);
        }
      }
      if (keys.length === 0) total += 1;
    }
  };
  visit(value, 0);
  return total;
};

/**
 * The length of a value as JSON text (bytes of UTF-8), or a number above `limit` as soon as the value is known to be longer. Throws
 * NodeFailure("value_too_large") for a value nested deeper than 1000 levels.
 */
export const jsonSize = (value: Json, limit: number): number => measure(value, limit, exactBytes);

/** Whether a value is longer than `limit` as JSON text (bytes). For short values this is much cheaper than the exact length. */
export const isLongerThan = (value: Json, limit: number): boolean =>
  measure(value, limit, maxBytesOf) > limit && jsonSize(value, limit) > limit;
