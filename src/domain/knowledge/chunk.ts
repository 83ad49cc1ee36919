import type { IndexingParams, NewChunk } from "./knowledge-base.ts";
import { beforePair, naiveRanges, sentenceRanges } from "./chunk-ranges.ts";

/** Most chunks of one document; more mean that chunk_size is too small for it. */
export const MAX_CHUNKS = 200_000;
const MAX_CONTEXT = 1000;

/** The position of a heading or page in the text. */
interface Place {
  readonly char_start: number;
  readonly char_end: number;
}

export interface ChunkedText {
  readonly text: string;
  /** In text order; null if the document has no pages. */
  readonly pages: readonly (Place & { readonly page: number })[] | null;
  readonly headings: readonly (Place & { readonly level: number })[];
}

/**
 * Cuts a text into chunks. Every character that is not a blank is in at least one chunk, and no chunk splits a surrogate pair. A generator,
 * so that the caller can pause between the chunks of a long text.
 */
export function* chunkText(source: ChunkedText, params: IndexingParams["chunker_params"]): Generator<NewChunk, void> {
  const { text, pages, headings } = source;
  const ranges =
    params.chunker_type === "naive"
      ? naiveRanges(text, params)
      : sentenceRanges(
          text,
          params,
          headings.map(({ char_start }) => char_start),
        );
  const above = headingsAbove(source);
  let chunk_index = 0;
  let firstPage = 0;
  for (const range of ranges) {
    const char_start = skipBlanks(text, range.start, range.end);
    const char_end = skipBlanksBack(text, char_start, range.end);
    if (char_start === char_end) continue;
    // Chunks never start before the previous one, so the first page never moves back.
    while (pages !== null && (pages[firstPage]?.char_end ?? Infinity) <= char_start) firstPage += 1;
    let lastPage = firstPage;
    while (pages !== null && (pages[lastPage + 1]?.char_start ?? Infinity) < char_end) lastPage += 1;
    const context = contextOf(above(char_start));
    // Includes the heading that the chunk begins with.
    const titles = above(char_start + 1);
    yield {
      chunk_index,
      text: text.slice(char_start, char_end),
      context,
      char_start,
      char_end,
      page_start: pages?.[firstPage]?.page ?? null,
      page_end: pages?.[lastPage]?.page ?? null,
      metadata: titles.length === 0 ? {} : { headings: titles },
    };
    chunk_index += 1;
  }
}

/** The text that is embedded and ranked for a chunk: its headings, then its text. */
export function embeddedText(chunk: { readonly context: string; readonly text: string } | undefined): string {
  if (chunk === undefined) return "";
  return chunk.context === "" ? chunk.text : `${chunk.context}\n\n${chunk.text}`;
}

/** Returns the headings above a position, topmost first. Call it with ascending positions. A heading is not above itself. */
function headingsAbove({ text, headings }: ChunkedText): (at: number) => readonly string[] {
  const path: { readonly level: number; readonly title: string }[] = [];
  let next = 0;
  return (at) => {
    for (; next < headings.length; next += 1) {
      const heading = headings[next];
      if (heading === undefined || heading.char_start >= at) break;
      while ((path.at(-1)?.level ?? 0) >= heading.level) path.pop();
      const end = Math.min(heading.char_end, heading.char_start + MAX_CONTEXT);
      const written = text.slice(heading.char_start, beforePair(text, end));
      // Strips Markdown's heading marks, at the beginning and at the end.
      const marked = written.replace(/^ {0,3}#+(?=[ \t])/, "").trim();
      const title = marked.replace(/(?<![^ \t])#+$/, "").replace(/[^\S\t]+/g, " ");
      path.push({ level: heading.level, title: title.trim() });
    }
    return path.map(({ title }) => title);
  };
}

function contextOf(titles: readonly string[]): string {
  const joined = titles.join(" > ");
  return joined.slice(0, beforePair(joined, Math.min(MAX_CONTEXT, joined.length)));
}

function skipBlanks(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && isBlank(text, at)) at += 1;
  return at;
}

function skipBlanksBack(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && isBlank(text, at - 1)) at -= 1;
  return at;
}

function isBlank(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 32 || (code >= 9 && code <= 13) || (code >= 0x80 && /\s/.test(text[at] ?? ""));
}
