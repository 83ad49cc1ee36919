const SURROGATE = /[\ud800-\udfff]/;

/**
 * Positions in CEL count characters (code points), those of JavaScript code units. Where a text has no surrogates, and
 * nearly all have none, both are the same.
 */
const isSimple = (text: string): boolean => !SURROGATE.test(text);

/** The characters of a text. */
export const charsOf = (text: string): string[] => (isSimple(text) ? text.split("") : Array.from(text));

/** How many characters a text has. */
export const charLength = (text: string): number => {
  if (isSimple(text)) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/** The code unit at which the character number `position` starts; undefined beyond the end. */
export const unitAt = (text: string, position: number): number | undefined => {
  if (position < 0 || position > text.length) return undefined;
  if (isSimple(text)) return position;
  let unit = 0;
  for (let n = 0; n < position; n++) {
    if (unit >= text.length) return undefined;
    unit += (text.codePointAt(unit) as number) > 0xffff ? 2 : 1;
  }
  return unit;
};

/** The number of the character that starts at a code unit. */
export const positionOf = (text: string, unit: number): number =>
  unit <= 0 || isSimple(text) ? unit : charLength(text.slice(0, unit));
