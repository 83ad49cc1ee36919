/** Matches a character that people cannot see but programs read. */
const UNSEEN = String.raw`(?![\u0600-\u0605\u06DD\u070F\u08E2\t\n\r])[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}]`;

/**
 * Characters that people cannot see but programs read: zero-width, directional, tags, variation selectors, fillers and controls. Visible
 * Arabic and Syriac signs in the same Unicode class are excluded.
 */
export const INVISIBLE = new RegExp(UNSEEN, "gu");

/** Scripts in which a joiner decides whether letters are connected. */
const JOINED = [
  String.raw`\p{Script=Arabic}\p{Script=Syriac}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}`,
  String.raw`\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}`,
  String.raw`\p{Script=Khmer}\p{Script=Myanmar}`,
].join("");

/** Legitimate uses of such characters in scripts and emoji: they change only how their neighbours look. */
const WRITTEN = [
  String.raw`(?<=\p{Emoji})[\uFE0E\uFE0F]`,
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D(?=\p{Extended_Pictographic})`,
  String.raw`(?<=\p{Script=Han})[\u{E0100}-\u{E01EF}]`,
  String.raw`(?<=[${JOINED}])[\u200C\u200D]`,
].join("|");
const HIDDEN = new RegExp(`(?!${WRITTEN})${UNSEEN}`, "gu");

const signOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** Replaces hidden characters that could deceive a reader with visible signs, because a person decides by what is shown. */
export function showMarks(text: string): string {
  return text.replaceAll(HIDDEN, (each) => `⟨${signOf(each)}⟩`);
}

/** The signs of the hidden characters in a text, without repetitions. */
export function marksIn(text: string): string[] {
  return [...new Set(text.match(HIDDEN))].map(signOf);
}

/** Each character as a sign such as U+200B. */
export const signsOf = (characters: Iterable<string>): string[] => [...characters].map(signOf);

/** Longest visible character (UTF-16 units) that is never cut; family and flag emoji have many code points. */
const LONGEST_CHARACTER = 64;
// Without Intl.Segmenter, as in some browsers, only surrogate pairs are kept together.
const SEGMENTER = "Segmenter" in Intl ? new Intl.Segmenter(undefined, { granularity: "grapheme" }) : null;

/** The beginning of a text, at most `units` UTF-16 units long, without cutting a visible character. */
export function beginning(text: string, units: number): string {
  if (text.length <= units) return text;
  const from = Math.max(0, units - LONGEST_CHARACTER);
  // Finds the start of the visible character around the end. The window may begin within another character, so a result of 0 does not
  // count.
  const begins = SEGMENTER?.segment(text.slice(from, units + LONGEST_CHARACTER)).containing(units - from)?.index ?? 0;
  const end = begins > 0 ? from + begins : units;
  return text.slice(0, isWithinPair(text, end) ? end - 1 : end);
}

function isWithinPair(text: string, at: number): boolean {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
}
