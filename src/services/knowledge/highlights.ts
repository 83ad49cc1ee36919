import { foldAccents, isUnspaced, wordsText } from "../../domain/knowledge/languages.ts";
import type { Highlight } from "../../domain/knowledge/query.ts";
import type { QueryTerm } from "../../stores/knowledge/search.ts";
import type { Lexer } from "./lexer.ts";

const WORD = /[\p{L}\p{N}]+(?:['’][\p{L}]+)?/gu;
/** Most highlights of a result; more would emphasise nothing. */
const MAX_HIGHLIGHTS = 200;

/** Languages whose stemmer also removes prefixes. */
const PREFIXED: ReadonlySet<string> = new Set(["arabic", "indonesian", "irish", "tamil", "yiddish"]);

/**
 * The places of a query's words in texts. A word counts as the query's when Postgres gives both the same lexeme, so
 * the highlights match what was found. Where stemming keeps the beginning of words apart from accents, only words with
 * the first letter of a lexeme are looked up.
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
  const isCandidate = (word: string): boolean => beginnings?.has(beginning(word)) !== false;
  // In a text without blanks, a match may be anywhere in a run of words.
  const words = texts.map((text) => wordsOf(text, isUnspaced(text) ? () => true : isCandidate));
  const asked = new Set(words.flatMap((each) => each.flatMap(({ plain }) => (isCandidate(plain) ? [plain] : []))));
  const lexed = asked.size === 0 ? [] : await lexer.lex([...asked], languages);
  const found = new Set([...asked].filter((_, at) => lexed[at]?.some(({ lexeme }) => lexemes.has(lexeme))));
  return words.map((each) => highlightsOf(each, found, prefixes, lexemes));
}

/**
 * The first letter in lower case without accents. It is the same for a word in a text and for its form given to
 * Postgres.
 */
function beginning(word: string): string {
  const [first = ""] = word;
  return first < "\u0080" ? first.toLowerCase() : (foldAccents(first.normalize("NFKC").toLowerCase())[0] ?? "");
}

/** A word of a text, with the form that is given to Postgres. */
interface Word {
  readonly text: string;
  readonly plain: string;
  readonly start: number;
}

/** The words of a text that may be highlighted. */
function wordsOf(text: string, isCandidate: (word: string) => boolean): Word[] {
  const words: Word[] = [];
  for (const match of text.matchAll(WORD)) {
    const [word] = match;
    if (isCandidate(word)) words.push({ text: word, plain: wordsText(word), start: match.index });
  }
  return words;
}

function highlightsOf(
  words: readonly Word[],
  found: ReadonlySet<string>,
  prefixes: readonly string[],
  lexemes: ReadonlySet<string>,
): Highlight[] {
  const highlights: Highlight[] = [];
  for (const { text, plain, start } of words) {
    if (found.has(plain) || prefixes.some((prefix) => foldAccents(plain).startsWith(prefix))) {
      highlights.push({ start, end: start + text.length });
    } else if (isUnspaced(text)) {
      // A run of several words.
      for (const lexeme of lexemes) {
        for (let at = text.indexOf(lexeme); at !== -1; at = text.indexOf(lexeme, at + lexeme.length)) {
          highlights.push({ start: start + at, end: start + at + lexeme.length });
        }
      }
    }
    if (highlights.length >= MAX_HIGHLIGHTS) break;
  }
  return highlights.toSorted((a, b) => a.start - b.start);
}
