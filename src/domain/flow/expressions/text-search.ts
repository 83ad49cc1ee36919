import type { Meter } from "./meter.ts";

/**
 * Up to these lengths V8 searches in linear time; beyond them its worst case is text times needle (1 s for a megabyte
 * and a needle of 4 kB forwards, half a second for 2 kB backwards), and both may come from whoever runs the flow.
 */
const LONGEST_NATIVE_NEEDLE = 250;
const LONGEST_NATIVE_NEEDLE_BACKWARDS = 16;

/** Units of work (of 20 ns) that one search through a text may take. */
export const searchUnits = (text: string, needle: string, backwards = false): number => {
  const longestNative = backwards ? LONGEST_NATIVE_NEEDLE_BACKWARDS : LONGEST_NATIVE_NEEDLE;
  return needle.length > longestNative ? text.length + needle.length : text.length >> 3;
};

/** Knuth-Morris-Pratt over `length` characters, read through `at`, so that it runs in either direction. */
const search = (
  length: number,
  at: (index: number) => number,
  needleLength: number,
  needleAt: (index: number) => number,
): number => {
  const borders = new Int32Array(needleLength);
  for (let i = 1, k = 0; i < needleLength; i++) {
    while (k > 0 && needleAt(i) !== needleAt(k)) k = borders[k - 1] as number;
    if (needleAt(i) === needleAt(k)) k++;
    borders[i] = k;
  }
  for (let i = 0, k = 0; i < length; i++) {
    while (k > 0 && at(i) !== needleAt(k)) k = borders[k - 1] as number;
    if (at(i) === needleAt(k) && ++k === needleLength) return i - needleLength + 1;
  }
  return -1;
};

/** As String.prototype.indexOf, in linear time whatever the texts are. */
export const indexOf = (text: string, needle: string, from = 0): number => {
  if (needle.length <= LONGEST_NATIVE_NEEDLE || needle.length > text.length - from) return text.indexOf(needle, from);
  const found = search(
    text.length - from,
    (i) => text.charCodeAt(from + i),
    needle.length,
    (i) => needle.charCodeAt(i),
  );
  return found < 0 ? -1 : found + from;
};

/** As String.prototype.lastIndexOf, in linear time whatever the texts are. */
export const lastIndexOf = (text: string, needle: string, from = text.length): number => {
  const end = Math.min(text.length, from + needle.length);
  if (needle.length <= LONGEST_NATIVE_NEEDLE_BACKWARDS || needle.length > end) return text.lastIndexOf(needle, from);
  const found = search(
    end,
    (i) => text.charCodeAt(end - 1 - i),
    needle.length,
    (i) => needle.charCodeAt(needle.length - 1 - i),
  );
  return found < 0 ? -1 : end - found - needle.length;
};

/**
 * The parts of `text` between occurrences of `separator` (not empty), each taking `units` from the budget; at most `max`
 * parts, the last one with the rest.
 */
export const splitText = (text: string, separator: string, meter: Meter, units: number, max = Infinity): string[] => {
  const parts: string[] = [];
  let start = 0;
  while (parts.length < max - 1) {
    const found = indexOf(text, separator, start);
    if (found < 0) break;
    meter.use(units);
    parts.push(text.slice(start, found));
    start = found + separator.length;
  }
  parts.push(text.slice(start));
  return parts;
};
