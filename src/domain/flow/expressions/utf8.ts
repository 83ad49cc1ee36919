import { NativeBytes } from "./natives.ts";

/** The UTF-8 bytes of a text; a lone surrogate becomes U+FFFD. Copied, because in a workflow's sandbox the encoder has an array type of its own. */
export const utf8Encode = (text: string): Uint8Array => NativeBytes.from(new TextEncoder().encode(text));

/** The text of UTF-8 bytes; undefined if they are not valid UTF-8. */
export const utf8Decode = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
};

/** Code units to convert at a time, because a string built one character at a time takes 32 bytes per character. */
const CHUNK = 8_192;

const textOfUnits = (units: Uint8Array): string => {
  let text = "";
  for (let i = 0; i < units.length; i += CHUNK) text += String.fromCharCode(...units.subarray(i, i + CHUNK));
  return text;
};

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** "=" */
const PADDING = 0x3d;

/** Base64 with padding; the sandbox has neither Buffer nor btoa. */
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
