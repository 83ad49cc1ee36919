import { NativeBytes } from "./natives.ts";

/**
 * The UTF-8 bytes of a text; a lone surrogate becomes U+FFFD. Copied, because in a workflow's sandbox the encoder's arrays are no instances of
 * the sandbox's Uint8Array.
 */
export const utf8Encode = (text: string): Uint8Array => new NativeBytes(new TextEncoder().encode(text));

/** The text of UTF-8 bytes; undefined if they are not valid UTF-8. */
export const utf8Decode = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
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
  return new TextDecoder().decode(units);
};
