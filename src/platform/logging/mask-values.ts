import { createMarks, findAll } from "../../domain/find-text.ts";
import { MASK } from "./redaction.ts";

/** Shorter values (characters) occur in ordinary text by chance: they are not masked. */
const MIN_CHARS = 4;
/** The minimum length of a credential without its scheme, and of a value in base64. */
const MIN_PART_CHARS = 8;
/** The minimum length of the beginning of a value that is masked at the end of a cut text. */
const MIN_BEGINNING_CHARS = 3;

/**
 * Masks known values in foreign text: verbatim, in JSON, in HTML, in a URL (encoded once or twice), in hex and in base64. `cut` means that
 * the text was truncated: then the beginning of a value at its end is masked as well.
 */
export type MaskValues = (text: string, cut?: boolean) => string;

/** Makes a function that masks these values. */
export function createMaskValues(values: readonly string[]): MaskValues {
  // Created on first use, because most responses have no text.
  let forms: readonly string[] | undefined;
  return (text, cut = false) => {
    forms ??= [...new Set(values.flatMap(withCredential).flatMap(formsOf).map(lower))];
    const within = lower(text);
    const marks = createMarks(text);
    for (const form of forms) {
      findAll(within, form, marks.add);
      if (!cut) continue;
      const chars = findAll(within.slice(Math.max(0, within.length - form.length + 1)), form, () => undefined);
      if (chars >= MIN_BEGINNING_CHARS) marks.add(within.length - chars, within.length);
    }
    return marks.masked(MASK);
  };
}

/** A value, and the part after the scheme of a value such as "Bearer x". */
function withCredential(value: string): string[] {
  const whole = value.trim();
  const [, credential = ""] = /^\S+\s+(\S+)$/.exec(whole) ?? [];
  return [whole, ...(credential.length >= MIN_PART_CHARS ? [credential] : [])];
}

function formsOf(value: string): string[] {
  const form = new URLSearchParams({ "": value }).toString().slice(1);
  const url = [form, form.replaceAll("+", "%20"), encodeURIComponent(Buffer.from(value).toString())];
  const twice = url.map(encodeURIComponent);
  const bytes = Buffer.from(value);
  const hex = value.length < MIN_PART_CHARS ? [] : [bytes.toString("hex")];
  const forms = [
    value,
    JSON.stringify(value).slice(1, -1),
    ...inHtml(value),
    ...url,
    ...twice,
    ...hex,
    ...inBase64(bytes),
  ];
  return forms.filter(({ length }) => length >= MIN_CHARS);
}

/** The value as libraries escape it in a page; they differ only in the quotes. */
function inHtml(value: string): string[] {
  const text = value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const quotes = [
    ["&quot;", "'"],
    ["&quot;", "&#39;"],
    ["&quot;", "&#x27;"],
    ["&#34;", "&#39;"],
  ] as const;
  return quotes.map(([double, single]) => text.replaceAll('"', double).replaceAll("'", single));
}

/** The bytes as they appear inside base64, which depends on the number of bytes before them modulo three. */
function inBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    // The first and last characters share bits with the neighbouring bytes.
    const form = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return form.length < MIN_PART_CHARS ? [] : [form, form.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

const CAPITAL_A = 65;
const CAPITAL_Z = 90;
/** Distance from a capital ASCII letter to its small one. */
const SMALL = 32;
/** Code units that are converted in one step. */
const LOWERED = 65_536;

// Changes only ASCII letters, because others can change their length, and so all positions.
function lower(text: string): string {
  if (!/[A-Z]/.test(text)) return text;
  if (!/[^\0-\x7f]/.test(text)) return text.toLowerCase();
  let lowered = "";
  for (let at = 0; at < text.length; at += LOWERED) {
    const bytes = Buffer.from(text.slice(at, at + LOWERED), "utf16le");
    for (let low = 0; low < bytes.length; low += 2) {
      const unit = bytes[low] ?? 0;
      if (unit >= CAPITAL_A && unit <= CAPITAL_Z && bytes[low + 1] === 0) bytes[low] = unit + SMALL;
    }
    lowered += bytes.toString("utf16le");
  }
  return lowered;
}
