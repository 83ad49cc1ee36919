import { embeddedText } from "../../domain/knowledge/chunk.ts";
import type { Database } from "../../stores/db.ts";
import { renewWords, takeOutdatedChunks } from "../../stores/knowledge/word-rules.ts";
import { createLexer } from "./lexer.ts";

const RENEWED_AT_ONCE = 500;

/**
 * Reindexes the words of chunks that were indexed by earlier rules, from the stored text; vectors are kept. One process
 * works at a time. Searches find a chunk by its old words until the new ones are committed. Returns the number of
 * chunks.
 */
export async function renewOutdatedWords(database: Database, isClosed: () => boolean = () => false): Promise<number> {
  const lexer = createLexer(database);
  let renewed = 0;
  for (;;) {
    const count = await database.systemTransaction(async (db) => {
      const chunks = await takeOutdatedChunks(db, RENEWED_AT_ONCE);
      const words: string[] = [];
      for (const language of new Set(chunks.map((chunk) => chunk.language))) {
        const texts = chunks.map((chunk) => (chunk.language === language ? embeddedText(chunk) : ""));
        const vectors = await lexer.vectors(texts, language);
        for (const [at, chunk] of chunks.entries()) if (chunk.language === language) words[at] = vectors[at] ?? "";
      }
      const fresh = chunks.map(({ index_no, chunk_no }, at) => ({ index_no, chunk_no, lexemes: words[at] ?? "" }));
      await renewWords(db, fresh);
      return chunks.length;
    });
    renewed += count;
    if (count === 0 || isClosed()) return renewed;
  }
}
