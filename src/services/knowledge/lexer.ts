import type { Database } from "../../stores/db.ts";
import { lexWords } from "../../stores/knowledge/search.ts";
import type { LexedWord } from "../../stores/knowledge/search.ts";

/** Tells the lexemes of words. */
export interface Lexer {
  /** As lexWords. */
  lex(words: readonly string[], languages: readonly string[]): Promise<LexedWord[]>;
}

type Lexemes = ReadonlyArray<Omit<LexedWord, "word">>;

const MAX_WORDS = 50_000;
/** Longer ones are hardly words, and asked for each time. */
const MAX_CHARS = 40;

/** Keeps what Postgres says of words: it depends on nothing but its dictionaries, and texts have the same words again and again. */
export function createLexer(database: Database, maxWords: number = MAX_WORDS): Lexer {
  // In the order of use.
  const known = new Map<string, Lexemes>();

  return {
    async lex(words, languages) {
      const among = languages.join(" ");
      const lexemes = new Map<string, Lexemes>();
      const missing: string[] = [];
      for (const word of new Set(words)) {
        const key = `${among} ${word}`;
        const found = known.get(key);
        if (found === undefined) {
          missing.push(word);
          continue;
        }
        known.delete(key);
        known.set(key, found);
        lexemes.set(word, found);
      }
      if (missing.length > 0) {
        const read = missing.map((): Array<Omit<LexedWord, "word">> => []);
        for (const { word, ...lexeme } of await database.search((db) => lexWords(db, missing, languages)))
          read[word]?.push(lexeme);
        for (const [at, word] of missing.entries()) {
          lexemes.set(word, read[at] ?? []);
          if (word.length <= MAX_CHARS) known.set(`${among} ${word}`, read[at] ?? []);
        }
        for (const key of known.keys()) {
          if (known.size <= maxWords) break;
          known.delete(key);
        }
      }
      return words.flatMap((text, word) => (lexemes.get(text) ?? []).map((lexeme) => ({ word, ...lexeme })));
    },
  };
}
