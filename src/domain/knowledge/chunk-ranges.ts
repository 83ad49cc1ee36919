/** A part of a text, in UTF-16 units; `end` is the first unit after it. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** The given position in a text, or the one before it if it splits a surrogate pair. */
export function beforePair(text: string, at: number): number {
  const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  return at > 0 && isLow && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 ? at - 1 : at;
}
