/** Bytes that are looked at. */
const SAMPLE = 64 * 1024;

interface Counts {
  /** Counts of two-byte characters: all, adjacent ones, and characters that texts are made of. */
  pairs: number;
  beside: number;
  common: number;
  kana: number;
  /** Katakana of half the width, of one byte. */
  half: number;
}

/**
 * The encoding of a Japanese text that names none: its characters have two bytes and stand beside each other, while accented letters
 * of other languages mostly stand alone. Null where it is neither of the two, or too short to tell.
 */
export function japaneseEncoding(bytes: Uint8Array): "shift_jis" | "euc-jp" | null {
  const sample = bytes.subarray(0, SAMPLE);
  const shiftJis = count(
    sample,
    shiftJisLength,
    (lead) => lead <= 0x9f,
    (lead) => lead === 0x82 || lead === 0x83,
  );
  if (shiftJis !== null && isText(shiftJis) && shiftJis.half <= shiftJis.pairs / 2) return "shift_jis";
  const isCommon = (lead: number): boolean => lead <= 0xa5 || (lead >= 0xb0 && lead <= 0xcf);
  const eucJp = count(sample, eucJpLength, isCommon, (lead) => lead === 0xa4 || lead === 0xa5);
  // Chinese and Korean texts have the same bytes, and no kana.
  return eucJp !== null && isText(eucJp) && eucJp.kana >= eucJp.pairs / 20 && eucJp.kana > 0 ? "euc-jp" : null;
}

function isText({ pairs, beside, common }: Counts): boolean {
  return pairs >= 2 && beside >= pairs * 0.6 && common >= pairs * 0.75;
}

/** Null where something is no character. A character that the sample cuts off is left out. */
function count(
  bytes: Uint8Array,
  lengthOf: (first: number, second: number) => number,
  isCommon: (lead: number) => boolean,
  isKana: (lead: number) => boolean,
): Counts | null {
  const counts = { pairs: 0, beside: 0, common: 0, kana: 0, half: 0 };
  /** Characters of two bytes that stand in a row. */
  let run = 0;
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at] ?? 0;
    const second = bytes[at + 1];
    if (first >= 0x80 && second === undefined) break;
    const length = lengthOf(first, second ?? 0);
    if (length === 0) return null;
    if (length === 2) {
      counts.pairs += 1;
      run += 1;
      // With the second of a row the first counts, too.
      if (run > 1) counts.beside += run === 2 ? 2 : 1;
      if (isCommon(first)) counts.common += 1;
      if (isKana(first)) counts.kana += 1;
    } else {
      run = 0;
      if (first >= 0x80) counts.half += 1;
    }
    at += length;
  }
  return counts;
}

/** 0 where that is no character. */
function shiftJisLength(first: number, second: number): number {
  if (first < 0x80 || (first >= 0xa1 && first <= 0xdf)) return 1;
  const isLead = (first >= 0x81 && first <= 0x9f) || (first >= 0xe0 && first <= 0xef);
  return isLead && second >= 0x40 && second <= 0xfc && second !== 0x7f ? 2 : 0;
}

function eucJpLength(first: number, second: number): number {
  if (first < 0x80) return 1;
  const isPair = first >= 0xa1 && first <= 0xfe && second >= 0xa1 && second <= 0xfe;
  return isPair || (first === 0x8e && second >= 0xa1 && second <= 0xdf) ? 2 : 0;
}
