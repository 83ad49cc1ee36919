import { ACCENTLESS, foldAccents } from "../../domain/knowledge/languages.ts";
import type { Phrase } from "../../domain/knowledge/search-terms.ts";
import { wordsOf } from "../../domain/knowledge/words.ts";
import type { Database } from "../../stores/db.ts";
import { lexWords } from "../../stores/knowledge/search.ts";
import { phraseQuery, wordVector } from "../../stores/knowledge/text-search.ts";

/** The lexemes of a word: one for each form that counts as the word, none for a stop word. */
type Lexemes = readonly string[];

export type Lexer = ReturnType<typeof createLexer>;

const MAX_WORDS = 100_000;
/** Longer words are rare and not cached. */
const MAX_CHARS = 40;

/**
 * Finds the lexemes of words; lexemes have no accents. Caches what Postgres returns: lexemes depend only on its
 * dictionaries, and texts repeat the same words.
 */
export function createLexer(database: Database, maxWords: number = MAX_WORDS) {
  // Keyed by language and word. Two generations are cheaper than an LRU order, which every word of every found text
  // would update.
  let recent = new Map<string, Lexemes>();
  let older: typeof recent = new Map();

  const keep = (key: string, lexemes: Lexemes): void => {
    if (recent.size >= maxWords / 2) [older, recent] = [recent, new Map()];
    recent.set(key, lexemes);
  };

  const find = (key: string): Lexemes | undefined => {
    const found = recent.get(key);
    if (found !== undefined) return found;
    const old = older.get(key);
    if (old !== undefined) keep(key, old);
    return old;
  };

  /** Reads the lexemes of words in exactly this spelling. */
  const read = async (
    words: Iterable<string>,
    languages: readonly string[],
  ): Promise<(language: string, word: string) => Lexemes> => {
    const known = new Map<string, Lexemes>();
    const missing = new Set<string>();
    const keyOf = (language: string, word: string): string => `${language} ${word}`;
    for (const word of words) {
      for (const language of languages) {
        const lexemes = find(keyOf(language, word));
        if (lexemes === undefined) missing.add(word);
        else known.set(keyOf(language, word), lexemes);
      }
    }
    if (missing.size > 0) {
      const asked = [...missing];
      for (const row of await database.search("", (db) => lexWords(db, asked, languages))) {
        const word = asked[row.word] ?? "";
        const lexemes = (row.lexemes ?? []).map(foldAccents);
        known.set(keyOf(languages[row.language] ?? "", word), lexemes);
        if (word.length <= MAX_CHARS) keep(keyOf(languages[row.language] ?? "", word), lexemes);
      }
    }
    return (language, word) => known.get(keyOf(language, word)) ?? [];
  };

  return {
    /** The lexemes of each word in all of the languages, from the word with its accents and without. */
    async lex(words: readonly string[], languages: readonly string[]): Promise<readonly Lexemes[]> {
      const forms = words.flatMap((word) => [word, foldAccents(word)]);
      const lexemesOf = await read(forms, languages);
      return words.map((word) => {
        const found = languages.flatMap((language) =>
          [word, foldAccents(word)].flatMap((form) => lexemesOf(language, form)),
        );
        return [...new Set(found)];
      });
    },

    /** The tsvector of each text's words in one language, as it is stored. */
    async vectors(texts: readonly string[], language: string): Promise<string[]> {
      const words = texts.map(wordsOf);
      const forms = new Set(words.flatMap((each) => each.map(({ text }) => formIn(language, text))));
      const lexemesOf = await read(forms, [language]);
      return words.map((each) =>
        wordVector(
          each.flatMap(({ text, position }) =>
            lexemesOf(language, formIn(language, text)).map((lexeme) => ({ lexeme, position })),
          ),
        ),
      );
    },

    /** A tsquery for each phrase that matches it in any of the languages; null if no text can match. */
    async phrases(phrases: readonly Phrase[], languages: readonly string[]): Promise<Array<string | null>> {
      const words = phrases.flatMap((phrase) => phrase.flatMap((word) => [word, foldAccents(word)]));
      const lexemesOf = await read(words, languages);
      return phrases.map((phrase) =>
        phraseQuery(languages.map((language) => phrase.map((word) => lexemesOf(language, formIn(language, word))))),
      );
    },
  };
}

/** The form of a word that is stemmed: without accents for stemmers that do not know them. */
function formIn(language: string, word: string): string {
  return (ACCENTLESS as readonly string[]).includes(language) ? foldAccents(word) : word;
}
