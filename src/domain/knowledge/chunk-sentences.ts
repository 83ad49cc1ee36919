import type { IndexingParams } from "./knowledge-base.ts";
import { beforePair } from "./chunk-ranges.ts";
import type { TextRange } from "./chunk-ranges.ts";

/** Longest text for one call, because Intl.Segmenter takes time that grows with the square of its length. */
const MAX_SEGMENTED = 2000;
/** A chunk that has reached this share of chunk_size ends where the next heading begins. */
const ENOUGH_BEFORE_HEADING = 0.4;

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
