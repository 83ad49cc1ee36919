import { isUnspaced, wordsText } from "../../domain/knowledge/languages.ts";
import type { Highlight } from "../../domain/knowledge/query.ts";
import type { Db } from "../../stores/db.ts";
import { lexWords } from "../../stores/knowledge/search.ts";
import type { QueryTerm } from "../../stores/knowledge/search.ts";

const WORD = /[\p{L}\p{N}]+(?:['’][\p{L}]+)?/gu;
/** Highlights of a result at most: beyond that they emphasise nothing. */
const MAX_HIGHLIGHTS = 200;

/**
 * The places of a query's words in texts. A word is one of the query's when Postgres gives both the same lexeme, so what is
 * highlighted is what was found. Only words that begin like a lexeme are asked about: stemming leaves the beginning.
 */
export async function findHighlights(
  db: Db,
  terms: readonly QueryTerm[],
  texts: readonly string[],
  languages: readonly string[],
): Promise<Highlight[][]> {
  const lexemes = new Set(terms.flatMap((term) => (term.prefix ? [] : term.lexemes)));
  const prefixes = terms.flatMap((term) => (term.prefix ? term.lexemes : []));
  const beginnings = new Set([...lexemes].map((lexeme) => lexeme.slice(0, 2)));
  const candidates = new Set<string>();
  for (const text of texts) {
    for (const [word] of text.matchAll(WORD)) {
      const plain = wordsText(word);
      if (beginnings.has(plain.slice(0, 2))) candidates.add(plain);
    }
  }
  const asked = [...candidates];
  const lexed = asked.length === 0 ? [] : await lexWords(db, asked, languages);
  const found = new Set(lexed.filter(({ lexeme }) => lexemes.has(lexeme)).map(({ word }) => asked[word] ?? ""));
  return texts.map((text) => highlightsOf(text, found, prefixes, lexemes));
}

function highlightsOf(
  text: string,
  found: ReadonlySet<string>,
  prefixes: readonly string[],
  lexemes: ReadonlySet<string>,
): Highlight[] {
  const highlights: Highlight[] = [];
  for (const match of text.matchAll(WORD)) {
    const plain = wordsText(match[0]);
    const end = match.index + match[0].length;
    if (found.has(plain) || prefixes.some((prefix) => plain.startsWith(prefix))) {
      highlights.push({ start: match.index, end });
    } else if (isUnspaced(match[0])) {
      // A run of several words.
      for (const lexeme of lexemes) {
        for (let at = match[0].indexOf(lexeme); at !== -1; at = match[0].indexOf(lexeme, at + lexeme.length)) {
          highlights.push({ start: match.index + at, end: match.index + at + lexeme.length });
        }
      }
    }
    if (highlights.length >= MAX_HIGHLIGHTS) break;
  }
  return highlights.toSorted((a, b) => a.start - b.start);
}
