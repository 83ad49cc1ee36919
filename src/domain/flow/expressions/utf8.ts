// TextEncoder, Buffer, btoa and atob are not the sandbox's own (or not there at all), so these few lines are.

/** The UTF-8 bytes of a text; a lone surrogate becomes U+FFFD. */
export const utf8Encode = (text: string): Uint8Array => {
  const bytes: number[] = [];
  for (const char of text) {
    let point = char.codePointAt(0) as number;
    if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
    if (point < 0x80) bytes.push(point);
    else if (point < 0x800) bytes.push(0xc0 | (point >> 6), 0x80 | (point & 0x3f));
    else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f));
    else {
      bytes.push(0xf0 | (point >> 18), 0x80 | ((point >> 12) & 0x3f));
      bytes.push(0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f));
    }
  }
  return Uint8Array.from(bytes);
};

/** The smallest code point that needs this many continuation bytes: anything smaller is an overlong form. */
const SMALLEST: readonly number[] = [0, 0x80, 0x800, 0x10000];

/** The text of UTF-8 bytes, or undefined where they are not UTF-8. */
export const utf8Decode = (bytes: Uint8Array): string | undefined => {
  let text = "";
  for (let i = 0; i < bytes.length;) {
    const lead = bytes[i++] as number;
    const more = lead < 0x80 ? 0 : lead >> 5 === 6 ? 1 : lead >> 4 === 14 ? 2 : lead >> 3 === 30 ? 3 : -1;
    if (more < 0 || i + more > bytes.length) return undefined;
    let point = more === 0 ? lead : lead & (0x3f >> more);
    for (let n = 0; n < more; n++) {
      const next = bytes[i++] as number;
      if (next >> 6 !== 2) return undefined;
      point = (point << 6) | (next & 0x3f);
    }
    if (point < (SMALLEST[more] as number) || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
      return undefined;
    text += String.fromCodePoint(point);
  }
  return text;
};

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Base64 with padding. */
export const base64Encode = (bytes: Uint8Array): string => {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const triple = ((bytes[i] as number) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    text += ALPHABET.charAt(triple >> 18) + ALPHABET.charAt((triple >> 12) & 63);
    text += i + 1 < bytes.length ? ALPHABET.charAt((triple >> 6) & 63) : "=";
    text += i + 2 < bytes.length ? ALPHABET.charAt(triple & 63) : "=";
  }
  return text;
};

/** The bytes of base64 text (white space ignored, padding optional), or undefined where it is not base64. */
export const base64Decode = (text: string): Uint8Array | undefined => {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  let digits = 0;
  let padded = false;
  for (const char of text) {
    if (char === " " || char === "\n" || char === "\r" || char === "\t") continue;
    if (char === "=") {
      padded = true;
      continue;
    }
    const value = ALPHABET.indexOf(char);
    if (value < 0 || padded) return undefined;
    digits++;
    held = ((held << 6) | value) & 0xffff;
    bits += 6;
    if (bits >= 8) bytes.push((held >> (bits -= 8)) & 0xff);
  }
  return digits % 4 === 1 ? undefined : Uint8Array.from(bytes);
};
