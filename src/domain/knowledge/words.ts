/** A word of a text. Postgres receives the separate words, so that they do not depend on its parser or locale. */
export interface Word {
  /** In composed form and lower case, without invisible characters. */
  readonly text: string;
  /** Number of the part in the text. */
  readonly position: number;
  /** A part alone; an identifier of several parts, at the position of its first part; or a piece of a camelCase part. */
  readonly kind: "part" | "whole" | "piece";
  /** Position in the text, in UTF-16 units; `end` is the first unit after the word. */
  readonly start: number;
  readonly end: number;
}

/**
 * Increase this when a change gives texts other words: chunks indexed by earlier rules are then indexed again in the background. Such a
 * change needs a migration for the partial index that finds them.
 */
export const WORD_RULES = 1;

/** Longer texts are not words, and the database accepts no lexeme over 2046 bytes. */
const MAX_WORD = 500;

// Scripts that are written without blanks between words.
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
// Matches a run of parts that are each joined to the next by one sign, or a symbol that stands for letters, such as ℃. A comma joins only
// digits.
const RUN =
  /[\p{L}\p{N}\p{M}\p{DI}]+(?:(?:[-._/:@\\&·\u2010\u2011\u058a\u05be\u05f3\u05f4]|(?<=\p{N}),(?=\p{N}))[\p{L}\p{N}\p{M}\p{DI}]+)*|\p{So}/gu;
// In Arabic script, a non-joiner separates the parts of a word. A superscript number also separates, because it may be a footnote's number
// (word¹) or a part (CO₂).
const JOINT =
  /[-._/:@\\&·\u2010\u2011\u058a\u05be\u05f3\u05f4,]|(?<=\p{Script_Extensions=Arabic})\u200c+(?=\p{Script_Extensions=Arabic})|(?<=\p{L})(?=\p{No})/gu;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const LETTER = /[\p{L}\p{N}]/u;
const INITIAL = /^\p{L}\p{M}*$/u;
// Invisible characters, enclosing marks, and the sign that stretches Arabic words.
const UNSEEN = /[\p{DI}\p{Me}\u0640]/gu;
const SPACE = "\u200b";
// Matches one letter with all that belongs to it: marks, parts of a Korean syllable, voicing marks of narrow katakana.
const LETTERS = /[^][\p{M}\p{DI}\u1160-\u11ff\ud7b0-\ud7fb\uff9e\uff9f]*/gu;
const ASCII = /^\p{ASCII}*$/u;
const CAMEL = /(?<=\p{Ll})(?=\p{Lu}\p{L})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})/u;
const segmenter = new Intl.Segmenter("und", { granularity: "word" });

/** Whether a text contains a script without blanks, for which there is no stemming. */
export function isUnspaced(text: string): boolean {
  return UNSPACED.test(text);
}

/** A text in the form in which words are compared. */
export function plainText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text.replace(UNSEEN, "").normalize("NFKC").replaceAll("\u2010", "-").toLowerCase();
}

/**
 * The words of a text, by Unicode classes. An identifier (`Node.js`, `input/output`, an address, a number) is found as a whole and by its
 * parts; text in scripts without blanks is divided into words; invisible characters do not divide a word.
 */
export function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  let position = 0;
  const add = (raw: string, kind: Word["kind"], start: number, end: number): void => {
    const word = plainText(raw);
    if (word.length <= MAX_WORD && LETTER.test(word)) words.push({ text: word, position, kind, start, end });
  };
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const isDivided = !ASCII.test(run) && isUnspaced(run);
    const parts = isDivided ? segmentsOf(run) : partsOf(run);
    if (parts.length > 1 && !isDivided) {
      // Single letters of an abbreviation (e.g., R&D) are not useful as words.
      const isShort = parts.every(({ raw }) => INITIAL.test(raw));
      add(run, isShort ? "part" : "whole", index, index + run.length);
      if (isShort) {
        position += 1;
        continue;
      }
    }
    for (const { raw, start, end } of parts) {
      const before = words.length;
      add(raw, "part", index + start, index + end);
      // Composition can change the length of a part, and then positions within it are unknown.
      const isAsWritten = raw.length === end - start;
      let at = index + start;
      for (const piece of raw.split(CAMEL)) {
        const [from, to] = isAsWritten ? [at, at + piece.length] : [index + start, index + end];
        if (piece.length > 1 && piece !== raw) add(piece, "piece", from, to);
        at += piece.length;
      }
      if (words.length > before) position += 1;
    }
  }
  return words;
}

interface Part {
  readonly raw: string;
  readonly start: number;
  readonly end: number;
}

/** The parts of a run, in composed form. */
function partsOf(run: string): Part[] {
  const parts: Part[] = [];
  let start = 0;
  for (const { 0: joint, index } of [...run.matchAll(JOINT), { 0: "", index: run.length }]) {
    const raw = run.slice(start, index);
    // Composition turns some characters into several words: ½, ㏂, ﷺ.
    if (ASCII.test(raw)) parts.push({ raw, start, end: index });
    else for (const [word] of composed(raw).matchAll(WORD)) parts.push({ raw: word, start, end: index });
    start = index + joint.length;
  }
  return parts;
}

const composed = (raw: string): string => raw.replace(UNSEEN, "").normalize("NFKC");

/**
 * The words of a run in a script without blanks. It is divided before compatibility characters are replaced, because the dictionaries know
 * Thai and Lao as written. A zero-width space also divides words.
 */
function segmentsOf(run: string): Part[] {
  let plain = "";
  const starts: number[] = [];
  const ends: number[] = [];
  for (const { 0: letter, index } of run.matchAll(LETTERS)) {
    const written = letter.replaceAll(SPACE, " ").replace(UNSEEN, "").normalize("NFC");
    plain += written;
    for (let i = 0; i < written.length; i += 1) {
      starts.push(index);
      ends.push(index + letter.length);
    }
  }
  const parts: Part[] = [];
  for (const { segment, index } of segmenter.segment(plain)) {
    const start = starts[index] ?? 0;
    const end = ends[index + segment.length - 1] ?? run.length;
    for (const [word] of composed(segment).matchAll(WORD)) parts.push({ raw: word, start, end });
  }
  return parts;
}
