import { foldAccents } from "./languages.ts";
import { isUnspaced, plainText, wordsOf } from "./words.ts";

/** What a query asks of the keyword index. Words are in the form of wordsOf. */
export interface SearchTerms {
  /** Words that add to a chunk's score, with their count in the query; with `prefix`, all words that begin with this text. */
  readonly words: ReadonlyArray<{ readonly text: string; readonly prefix: boolean; readonly count: number }>;
  /** Phrases of two or more words that a chunk must contain; their words are also in `words`. */
  readonly phrases: readonly Phrase[];
  /** Words and phrases that a chunk must not contain. */
  readonly excluded: ReadonlyArray<{ readonly words: Phrase; readonly prefix: boolean }>;
  /** The query without operators and excluded words: the text to embed. */
  readonly plain: string;
}

/** Consecutive words. */
export type Phrase = readonly string[];

/** A shorter prefix would read a large part of the index, so its `*` is ignored. */
const MIN_PREFIX = 2;

// Matches -"..." or "...", or a run of anything but blanks.
const PART = /(?<=^|\s)(-?)"([^"]*)"|(\S+)/gu;

/**
 * Parses the operators of a query: `"a phrase"`, `begin*`, `-not`, `-"not this"`. A minus counts only at the beginning of a word, and an
 * unclosed quotation mark is ignored. An identifier is searched as a whole and by its parts: text that contains it has them all, and text
 * with some of them is better than none. A camelCase word is not divided.
 */
export function parseSearch(query: string): SearchTerms {
  const words = new Map<string, { text: string; prefix: boolean; count: number }>();
  const phrases: Phrase[] = [];
  const excluded: { words: Phrase; prefix: boolean }[] = [];
  const plain: string[] = [];
  const addWord = (text: string, prefix: boolean): void => {
    const key = `${text}${prefix ? "*" : ""}`;
    words.set(key, { text, prefix, count: (words.get(key)?.count ?? 0) + 1 });
  };
  const addWords = (text: string): void => {
    for (const word of wordsOf(text)) if (word.kind !== "piece") addWord(word.text, false);
  };
  const phraseOf = (text: string): Phrase =>
    wordsOf(text).flatMap(({ kind, text: word }) => (kind === "part" ? [word] : []));
  for (const [, minus, quoted, word] of query.matchAll(PART)) {
    if (quoted !== undefined) {
      const phrase = phraseOf(quoted);
      if (phrase.length === 0) continue;
      if (minus === "-") {
        excluded.push({ words: phrase, prefix: false });
        continue;
      }
      // A single quoted word is not required, because that would lose good results.
      if (phrase.length > 1 && (/\s/u.test(quoted.trim()) || isUnspaced(quoted))) phrases.push(phrase);
      plain.push(quoted);
      addWords(quoted);
      continue;
    }
    if (word === undefined) continue;
    const not = /^-[\p{L}\p{N}]/u.test(word);
    const bare = not ? word.slice(1) : word;
    if (/^[\p{L}\p{N}\p{M}\p{DI}]+\*$/u.test(bare)) {
      // Only prefixes are folded here; whole words lose their accents when they are stemmed.
      const prefix = foldAccents(plainText(bare.slice(0, -1)));
      if (prefix.length >= MIN_PREFIX) {
        if (not) excluded.push({ words: [prefix], prefix: true });
        else {
          plain.push(bare.slice(0, -1));
          addWord(prefix, true);
        }
        continue;
      }
    }
    if (not) {
      excluded.push({ words: phraseOf(bare), prefix: false });
      continue;
    }
    plain.push(bare);
    addWords(bare);
  }
  return { words: [...words.values()], phrases, excluded, plain: plain.join(" ").trim() };
}
