import type { IndexingParams } from "./knowledge-base.ts";

/** Longest text for one call, because Intl.Segmenter takes time that grows with the square of its length. */
const MAX_SEGMENTED = 2000;
/** A chunk that has reached this share of chunk_size ends where the next heading begins. */
const ENOUGH_BEFORE_HEADING = 0.4;

/** A part of a text, in UTF-16 units; `end` is the first unit after it. */
interface TextRange {
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

/**
 * Ranges of whole sentences, up to chunk_size characters. A range begins with the last sentences of the previous one, as many as fit into
 * chunk_overlap, but never from before a heading. A sentence longer than a chunk is cut between words.
 */
export function* sentenceRanges(
  text: string,
  { chunk_size, chunk_overlap }: IndexingParams["chunker_params"],
  headings: readonly number[],
): Generator<TextRange, void> {
  const starts = new Set(headings);
  let held: TextRange[] = [];
  /** Whether all held sentences are already in an earlier range. */
  let isOverlap = true;
  for (const sentence of sentencesOf(text, chunk_size)) {
    const first = held[0];
    const last = held.at(-1);
    if (first !== undefined && last !== undefined && !isOverlap) {
      const isFull = sentence.end - first.start > chunk_size;
      const isSection = starts.has(sentence.start) && last.end - first.start >= chunk_size * ENOUGH_BEFORE_HEADING;
      if (isFull || isSection) {
        yield { start: first.start, end: last.end };
        const from = last.end - chunk_overlap;
        held = isSection ? [] : held.filter(({ start }) => start >= from && start > first.start);
        isOverlap = true;
        // The overlap must not cross a heading.
        const section = held.findLastIndex(({ start }) => starts.has(start));
        if (section > 0) held = held.slice(section);
      }
    }
    // Drops overlapping sentences until the new one fits.
    while (held[0] !== undefined && sentence.end - held[0].start > chunk_size) held.shift();
    held.push(sentence);
    isOverlap = false;
  }
  const [first, last] = [held[0], held.at(-1)];
  if (first !== undefined && last !== undefined) yield { start: first.start, end: last.end };
}

/** The sentences of a text, without gaps; a line break also ends a sentence. None is longer than `maxLength`. */
function* sentencesOf(text: string, maxLength: number): Generator<TextRange, void> {
  const segmenter = new Intl.Segmenter("en", { granularity: "sentence" });
  for (let line = 0; line < text.length;) {
    const newline = text.indexOf("\n", line);
    const lineEnd = newline === -1 ? text.length : newline + 1;
    for (let block = line; block < lineEnd;) {
      const blockEnd = wordEnd(text, block, lineEnd, MAX_SEGMENTED);
      const piece = text.slice(block, blockEnd);
      for (const length of sentenceLengths(segmenter, piece)) {
        const end = block + length;
        while (block < end) {
          const pieceEnd = wordEnd(text, block, end, maxLength);
          yield { start: block, end: pieceEnd };
          block = pieceEnd;
        }
      }
    }
    line = lineEnd;
  }
}

function sentenceLengths(segmenter: Intl.Segmenter, text: string): number[] {
  // The fast path for most lines of tables, lists and code, which are one sentence.
  if (!/[.!?…。！？｡]/.test(text)) return [text.length];
  return [...segmenter.segment(text)].map(({ segment }) => segment.length);
}

/** The end of a piece of at most `maxLength` characters: after a blank, if there is one in its second half. */
function wordEnd(text: string, start: number, end: number, maxLength: number): number {
  if (end - start <= maxLength) return end;
  const limit = start + maxLength;
  for (let at = limit; at > start + maxLength / 2; at -= 1) if (/\s/.test(text[at - 1] ?? "")) return at;
  return beforePair(text, limit);
}
