import { foldAccents, wordsText } from "./languages.ts";

/** What a query asks of the keyword index. Every text is as wordsText makes it. */
export interface SearchTerms {
  /** Words that add to a chunk's score, as often as the query has them; with `prefix`, every word that begins so. */
  readonly words: ReadonlyArray<{ readonly text: string; readonly prefix: boolean; readonly count: number }>;
  /** Phrases of two words and more, which a chunk must have; their words are among `words` too. */
  readonly phrases: readonly string[];
  /** Words and phrases that a chunk must not have. */
  readonly excluded: ReadonlyArray<{ readonly text: string; readonly prefix: boolean }>;
  /** The query without its operators and excluded words: this text is embedded. */
  readonly plain: string;
}

/** A shorter prefix would read a large part of the index. */
const MIN_PREFIX = 2;

// -"..." or "...", or a run of anything but blanks and quotes.
const PART = /(?<=^|\s)(-?)"([^"]*)"|(\S+)/gu;
const LETTER = /[\p{L}\p{N}]/u;

/**
 * Reads the operators of a query: `"a phrase"`, `begin*`, `-not`, `-"not this"`. A minus counts at the beginning of a
 * word only, and a quotation mark that is never closed is no operator.
 */
export function parseSearch(query: string): SearchTerms {
  const words = new Map<string, { text: string; prefix: boolean; count: number }>();
  const phrases: string[] = [];
  const excluded: { text: string; prefix: boolean }[] = [];
  const plain: string[] = [];
  const addWord = (text: string, prefix: boolean): void => {
    const key = `${text}${prefix ? "*" : ""}`;
    words.set(key, { text, prefix, count: (words.get(key)?.count ?? 0) + 1 });
  };
  for (const [, minus, quoted, word] of query.matchAll(PART)) {
    if (quoted !== undefined) {
      const text = wordsText(quoted).trim();
      if (!LETTER.test(text)) continue;
      if (minus === "-") {
        excluded.push({ text, prefix: false });
        continue;
      }
      // A single word in quotation marks is only mentioned; requiring it would lose good results.
      if (/\s/u.test(text)) phrases.push(text);
      plain.push(quoted);
      for (const each of text.split(/\s+/u)) if (LETTER.test(each)) addWord(each, false);
      continue;
    }
    if (word === undefined) continue;
    const not = /^-[\p{L}\p{N}]/u.test(word);
    const bare = not ? word.slice(1) : word;
    const prefix = /^[\p{L}\p{N}]+\*$/u.test(bare) && bare.length > MIN_PREFIX;
    // Whole words are folded once they have been stemmed.
    const text = prefix ? foldAccents(wordsText(bare.slice(0, -1))) : wordsText(bare);
    if (!LETTER.test(text)) {
      plain.push(word);
      continue;
    }
    if (not) {
      excluded.push({ text, prefix });
      continue;
    }
    plain.push(prefix ? bare.slice(0, -1) : bare);
    // The words of scripts without blanks arrive as one run.
    for (const each of text.split(/\s+/u)) if (LETTER.test(each)) addWord(each, prefix);
  }
  return { words: [...words.values()], phrases, excluded, plain: plain.join(" ").trim() };
}
