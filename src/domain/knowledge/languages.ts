/**
 * Text search configurations of Postgres by the ISO 639-3 code of their language: the ones that come with every supported
 * version. They bring stemming and stop words.
 */
export const CONFIGURATION_OF_LANGUAGE = {
  arb: "arabic",
  cat: "catalan",
  dan: "danish",
  deu: "german",
  ell: "greek",
  eng: "english",
  eus: "basque",
  fin: "finnish",
  fra: "french",
  gle: "irish",
  hin: "hindi",
  hun: "hungarian",
  hye: "armenian",
  ind: "indonesian",
  ita: "italian",
  lit: "lithuanian",
  nld: "dutch",
  nob: "norwegian",
  npi: "nepali",
  por: "portuguese",
  ron: "romanian",
  rus: "russian",
  spa: "spanish",
  srp: "serbian",
  swe: "swedish",
  tam: "tamil",
  tur: "turkish",
  ydd: "yiddish",
} as const;

/** The configuration for a text in none of these languages. */
export const NO_LANGUAGE = "simple";
/** The configuration for a text too short to tell. */
export const DEFAULT_LANGUAGE = "english";

export type TextConfiguration =
  | (typeof CONFIGURATION_OF_LANGUAGE)[keyof typeof CONFIGURATION_OF_LANGUAGE]
  | typeof NO_LANGUAGE;

// Scripts written without blanks between words.
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
// Of these only the case changes.
const ASCII = /^\p{ASCII}*$/u;
const segmenter = new Intl.Segmenter("und", { granularity: "word" });

/** Whether most of a text is in a script without blanks, for which there is no stemming. */
export function isUnspaced(text: string): boolean {
  return UNSPACED.test(text);
}

/**
 * A text as it is given to Postgres for its words: composed, in lower case whatever the database's locale, and with
 * blanks between the words of scripts that have none. Queries go through the same.
 */
export function wordsText(text: string): string {
  if (ASCII.test(text) && !text.includes("\u0000")) return text.toLowerCase();
  const plain = text.normalize("NFKC").replaceAll("\u0000", " ").toLowerCase();
  if (!UNSPACED.test(plain)) return plain;
  const words: string[] = [];
  for (const { segment } of segmenter.segment(plain)) words.push(segment);
  return words.join(" ");
}

/** Configurations whose stemmers know no accents: words lose them before they are stemmed, and in all others afterwards. */
export const ACCENTLESS: readonly TextConfiguration[] = [DEFAULT_LANGUAGE, NO_LANGUAGE];

/** Letters whose accent is part of them. */
const STROKED: Readonly<Record<string, string>> = {
  ł: "l",
  ø: "o",
  đ: "d",
  ħ: "h",
  ŧ: "t",
  ı: "i",
  ß: "ss",
  æ: "ae",
  œ: "oe",
};

/** A word in lower case without its accents, as `fold_accents` of the database makes it. */
export function foldAccents(word: string): string {
  if (ASCII.test(word)) return word;
  const bare = word
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFC");
  return bare.replace(/[łøđħŧıßæœ]/g, (letter) => STROKED[letter] ?? letter) || word;
}
