const SURROGATE = /[\ud800-\udfff]/;

/** CEL counts positions in code points, JavaScript in code units. They agree for text without surrogates, which nearly all texts are. */
const isSimple = (text: string): boolean => !SURROGATE.test(text);

export const charsOf = (text: string): string[] => (isSimple(text) ? text.split("") : Array.from(text));

export const charLength = (text: string): number => {
  if (isSimple(text)) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/** The code unit at which the character at `position` starts; undefined beyond the end. */
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

/** The character position of a code unit. */
export const positionOf = (text: string, unit: number): number =>
  unit <= 0 || isSimple(text) ? unit : charLength(text.slice(0, unit));
