import type { KnowledgeResult } from "./query.ts";

/** A chunk that an answer cites. */
export interface Citation extends Pick<
  KnowledgeResult,
  "resource_id" | "resource_path" | "source_url" | "chunk_id" | `${"page" | "char"}_${"start" | "end"}` | "score"
> {
  /** The number of the chunk in the text of the node's value, from 1. */
  readonly index: number;
  readonly knowledge_base_id: string;
}

/** The citations of search results, in their order. */
export function citationsOf(knowledgeBaseId: string, results: readonly KnowledgeResult[]): Citation[] {
  return results.map((result) => ({
    index: result.rank,
    knowledge_base_id: knowledgeBaseId,
    resource_id: result.resource_id,
    resource_path: result.resource_path,
    source_url: result.source_url,
    chunk_id: result.chunk_id,
    page_start: result.page_start,
    page_end: result.page_end,
    char_start: result.char_start,
    char_end: result.char_end,
    score: result.score,
  }));
}

/** Search results as text for people and models, each with its number and source. */
export function textOfResults(results: readonly KnowledgeResult[]): string {
  return results
    .map((result) => {
      const { page_start: first, page_end: last } = result;
      const pages =
        first === null ? "" : last === null || last === first ? `, page ${first}` : `, pages ${first}-${last}`;
      return `[${result.rank}] ${result.resource_path}${pages}\n${passageOf(result)}`;
    })
    .join("\n\n");
}

/** The text of a result and its neighbouring chunks; parts that they share appear once. */
function passageOf({ text, char_start, char_end, neighbors = [] }: KnowledgeResult): string {
  const parts = [...neighbors, { text: text ?? "", char_start, char_end }].toSorted(
    (a, b) => a.char_start - b.char_start,
  );
  let passage = "";
  let end = -1;
  for (const part of parts) {
    if (part.char_end <= end) continue;
    const known = end - part.char_start;
    passage += known > 0 ? part.text.slice(known) : `${passage === "" ? "" : "\n"}${part.text}`;
    end = part.char_end;
  }
  return passage;
}
