/**
 * Postgres text search configurations by ISO 639-3 language code: those of every supported Postgres version. They provide stemming and stop
 * words.
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

/** The configuration for text in any other language. */
export const NO_LANGUAGE = "simple";
/** The configuration for text that is too short to detect its language. */
export const DEFAULT_LANGUAGE = "english";

export type TextConfiguration =
  | (typeof CONFIGURATION_OF_LANGUAGE)[keyof typeof CONFIGURATION_OF_LANGUAGE]
  | typeof NO_LANGUAGE;

// ASCII words have no accents.
const ASCII = /^\p{ASCII}*$/u;

/** Configurations whose stemmers do not know accents. Their words lose accents before stemming, all others afterwards. */
export const ACCENTLESS: readonly TextConfiguration[] = [DEFAULT_LANGUAGE, NO_LANGUAGE];

/** Letters that Unicode normalisation does not decompose. */
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

/** Removes the accents of a lower-case word. */
export function foldAccents(word: string): string {
  if (ASCII.test(word)) return word;
  const bare = word
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFC");
  return bare.replace(/[łøđħŧıßæœ]/g, (letter) => STROKED[letter] ?? letter) || word;
}
