import { NativeBytes } from "./natives.ts";

// These functions exist because the sandbox has no TextEncoder, Buffer, btoa and atob of its own.

/** Code units to convert at a time, because a string built one character at a time takes 32 bytes per character. */
const CHUNK = 8_192;

const textOfUnits = (units: Uint8Array | Uint16Array): string => {
  let text = "";
  for (let i = 0; i < units.length; i += CHUNK) text += String.fromCharCode(...units.subarray(i, i + CHUNK));
  return text;
};

/** The UTF-8 bytes of a text; a lone surrogate becomes U+FFFD. */
export const utf8Encode = (text: string): Uint8Array => {
  const bytes = new NativeBytes(text.length * 3);
  let length = 0;
  const trail = (point: number, shift: number): void => {
    bytes[length++] = 0x80 | ((point >> shift) & 0x3f);
  };
  for (const char of text) {
    let point = char.codePointAt(0) as number;
    if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
    if (point < 0x80) bytes[length++] = point;
    else if (point < 0x800) bytes[length++] = 0xc0 | (point >> 6);
    else if (point < 0x10000) bytes[length++] = 0xe0 | (point >> 12);
    else bytes[length++] = 0xf0 | (point >> 18);
    if (point >= 0x10000) trail(point, 12);
    if (point >= 0x800) trail(point, 6);
    if (point >= 0x80) trail(point, 0);
  }
  return bytes.slice(0, length);
};

/** The smallest code point for each number of continuation bytes; a smaller one is an overlong form. */
const SMALLEST: readonly number[] = [0, 0x80, 0x800, 0x10000];

/** The text of UTF-8 bytes; undefined if they are not valid UTF-8. */
export const utf8Decode = (bytes: Uint8Array): string | undefined => {
  const units = new Uint16Array(bytes.length);
  let length = 0;
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
    if (point < 0x10000) units[length++] = point;
    else {
      units[length++] = 0xd7c0 + (point >> 10);
      units[length++] = 0xdc00 | (point & 0x3ff);
    }
  }
  return textOfUnits(units.subarray(0, length));
};

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** "=" */
const PADDING = 0x3d;

/** Base64 with padding. */
export const base64Encode = (bytes: Uint8Array): string => {
  const units = new NativeBytes(Math.ceil(bytes.length / 3) * 4);
  let length = 0;
  for (let i = 0; i < bytes.length; i += 3) {
    const triple = ((bytes[i] as number) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    units[length++] = ALPHABET.charCodeAt(triple >> 18);
    units[length++] = ALPHABET.charCodeAt((triple >> 12) & 63);
    units[length++] = i + 1 < bytes.length ? ALPHABET.charCodeAt((triple >> 6) & 63) : PADDING;
    units[length++] = i + 2 < bytes.length ? ALPHABET.charCodeAt(triple & 63) : PADDING;
  }
  return textOfUnits(units);
};
