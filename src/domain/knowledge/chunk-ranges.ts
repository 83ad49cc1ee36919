import type { IndexingParams } from "./knowledge-base.ts";

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

/** Windows of chunk_size characters. Each begins chunk_overlap before the end of the previous one. */
export function* naiveRanges(
  text: string,
  { chunk_size, chunk_overlap }: IndexingParams["chunker_params"],
): Generator<TextRange, void> {
  for (let start = 0; start < text.length;) {
    const end = beforePair(text, Math.min(start + chunk_size, text.length));
    yield { start, end };
    if (end === text.length) return;
    const next = beforePair(text, end - chunk_overlap);
    start = next > start ? next : end;
  }
}
