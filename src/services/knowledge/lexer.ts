import type { Database } from "../../stores/db.ts";
import { lexWords } from "../../stores/knowledge/search.ts";
import type { LexedWord } from "../../stores/knowledge/search.ts";

/** The lexemes of one word in all of these languages; empty for a stop word. */
export type Lexemes = ReadonlyArray<Omit<LexedWord, "word">>;

/** Finds the lexemes of words. */
export interface Lexer {
  /** Like lexWords, with the lexemes of each word at its index. */
  lex(words: readonly string[], languages: readonly string[]): Promise<readonly Lexemes[]>;
}

const MAX_WORDS = 100_000;
/** Longer words are rare, and not cached. */
const MAX_CHARS = 40;

/** Caches the lexemes that Postgres returns: they depend only on its dictionaries, and texts repeat the same words. */
export function createLexer(database: Database, maxWords: number = MAX_WORDS): Lexer {
  // By languages, then by word. Two generations replace an LRU order, which every word of every found text would have
  // to update.
  let recent = new Map<string, Map<string, Lexemes>>();
  let older: typeof recent = new Map();
  let size = 0;

  const keep = (languages: string, word: string, lexemes: Lexemes): void => {
    if (size >= maxWords / 2) {
      [older, recent] = [recent, new Map()];
      size = 0;
    }
    let words = recent.get(languages);
    if (words === undefined) recent.set(languages, (words = new Map<string, Lexemes>()));
    words.set(word, lexemes);
    size += 1;
  };

  const find = (languages: string, word: string): Lexemes | undefined => {
    const found = recent.get(languages)?.get(word);
    if (found !== undefined) return found;
    const old = older.get(languages)?.get(word);
    if (old !== undefined) keep(languages, word, old);
    return old;
  };

  return {
    async lex(words, languages) {
      const among = languages.join(" ");
      const found = words.map((word) => find(among, word));
      const missing = [...new Set(words.filter((_, at) => found[at] === undefined))];
      if (missing.length === 0) return found as Lexemes[];
      const read = new Map(missing.map((word) => [word, [] as Array<Omit<LexedWord, "word">>]));
      for (const { word, ...lexeme } of await database.search((db) => lexWords(db, missing, languages)))
        read.get(missing[word] as string)?.push(lexeme);
      for (const [word, lexemes] of read) if (word.length <= MAX_CHARS) keep(among, word, lexemes);
      return words.map((word, at) => found[at] ?? read.get(word) ?? []);
    },
  };
}
