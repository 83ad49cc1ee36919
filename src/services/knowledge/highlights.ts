import { foldAccents } from "../../domain/knowledge/languages.ts";
import type { Highlight } from "../../domain/knowledge/query.ts";
import { wordsOf } from "../../domain/knowledge/words.ts";
import type { QueryTerm } from "../../stores/knowledge/search.ts";
import type { Lexer } from "./lexer.ts";

/** Most highlights of a result, since more would no longer help the reader. */
const MAX_HIGHLIGHTS = 200;

/** Languages whose stemmer also removes prefixes. */
const PREFIXED: ReadonlySet<string> = new Set(["arabic", "indonesian", "irish", "tamil", "yiddish"]);

/**
 * The positions of a query's words in texts. Words match if they have the same lexeme, so highlights agree with the
 * search. If no language's stemmer removes prefixes, only words that begin with a lexeme's first letter (accents
 * ignored) are looked up.
 */
export async function findHighlights(
  lexer: Lexer,
  terms: readonly QueryTerm[],
  texts: readonly string[],
  languages: readonly string[],
): Promise<Highlight[][]> {
  const lexemes = new Set(terms.flatMap((term) => (term.prefix ? [] : term.lexemes)));
  const prefixes = terms.flatMap((term) => (term.prefix ? term.lexemes : []));
  const beginnings = languages.some((language) => PREFIXED.has(language))
    ? null
    : new Set([...lexemes, ...prefixes].map(beginning));
  const words = texts.map((text) =>
    wordsOf(text).filter((word) => beginnings === null || beginnings.has(beginning(word.text))),
  );
  const asked = [...new Set(words.flatMap((each) => each.map(({ text }) => text)))];
  const lexed = asked.length === 0 ? [] : await lexer.lex(asked, languages);
  const found = new Set(
    asked.filter(
      (word, at) =>
        lexed[at]?.some((lexeme) => lexemes.has(lexeme)) === true ||
        prefixes.some((prefix) => foldAccents(word).startsWith(prefix)),
    ),
  );
  return words.map((each) => joined(each.filter(({ text }) => found.has(text))));
}

/** The first letter without accents. */
const beginning = (word: string): string => [...foldAccents(word)][0] ?? "";

/** The positions of words in text order; the parts of an identifier lie within it and are dropped. */
function joined(words: readonly Highlight[]): Highlight[] {
  const highlights: Highlight[] = [];
  for (const { start, end } of words.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (highlights.length === MAX_HIGHLIGHTS) break;
    if (end > (highlights.at(-1)?.end ?? 0)) highlights.push({ start, end });
  }
  return highlights;
}
