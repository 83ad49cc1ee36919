import type { Meter } from "../meter.ts";

const SURROGATE = /[\ud800-\udfff]/;

/**
 * Positions in CEL count characters (code points), those of JavaScript code units. Where a text has no surrogates, and
 * nearly all have none, both are the same.
 */
const isSimple = (text: string, meter: Meter): boolean => {
  meter.use(text.length >> 5);
  return !SURROGATE.test(text);
};

/** The characters of a text. */
export const charsOf = (text: string, meter: Meter): string[] => {
  meter.use(text.length);
  return isSimple(text, meter) ? text.split("") : Array.from(text);
};

/** How many characters a text has. */
export const charLength = (text: string, meter: Meter): number => {
  if (isSimple(text, meter)) return text.length;
  meter.use(text.length);
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/** The code unit at which the character number `position` starts; undefined beyond the end. */
export const unitAt = (text: string, position: number, meter: Meter): number | undefined => {
  if (position < 0 || position > text.length) return undefined;
  if (isSimple(text, meter)) return position;
  meter.use(position);
  let unit = 0;
  for (let n = 0; n < position; n++) {
    if (unit >= text.length) return undefined;
    unit += (text.codePointAt(unit) as number) > 0xffff ? 2 : 1;
  }
  return unit;
};

/** The number of the character that starts at a code unit. */
export const positionOf = (text: string, unit: number, meter: Meter): number =>
  unit <= 0 || isSimple(text, meter) ? unit : charLength(text.slice(0, unit), meter);
