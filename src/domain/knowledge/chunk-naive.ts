import type { IndexingParams } from "./knowledge-base.ts";
import { beforePair } from "./chunk-ranges.ts";
import type { TextRange } from "./chunk-ranges.ts";

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
