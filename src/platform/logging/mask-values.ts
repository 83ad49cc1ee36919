import { MASK } from "./redaction.ts";

/** Shorter values (characters) occur in ordinary text by chance: they are not masked. */
const MIN_CHARS = 4;
/** The same of a credential without its scheme, and of a value in base64. */
const MIN_PART_CHARS = 8;
/** The same of the beginning of a value, where the text is cut. */
const MIN_BEGINNING_CHARS = 3;

/**
 * Masks known values in foreign text: verbatim, in JSON, in a URL and in base64. `cut` says that the text
 * was truncated: then the beginning of a value at its end is masked as well.
 */
export type MaskValues = (text: string, cut?: boolean) => string;

/** Makes a function that masks these values. */
export function createMaskValues(values: readonly string[]): MaskValues {
  // Made when they are needed first: most answers have no text.
  let forms: readonly string[] | undefined;
  return (text, cut = false) => {
    forms ??= [...new Set(values.flatMap(withCredential).flatMap(formsOf).map(lower))];
    const within = lower(text);
    const spans = forms.flatMap((form) => occurrences(within, form));
    if (cut) spans.push(...forms.flatMap((form) => beginningAtEnd(within, form)));
    return masked(text, spans);
  };
}

/** From where to where in a text. */
type Span = readonly [start: number, end: number];

/** A value, and of one such as "Bearer x" also the x. */
function withCredential(value: string): string[] {
  const whole = value.trim();
  const [, credential = ""] = /^\S+\s+(\S+)$/.exec(whole) ?? [];
  return [whole, ...(credential.length >= MIN_PART_CHARS ? [credential] : [])];
}

function formsOf(value: string): string[] {
  const form = new URLSearchParams({ "": value }).toString().slice(1);
  const url = [form, form.replaceAll("+", "%20"), encodeURIComponent(Buffer.from(value).toString())];
  const forms = [value, JSON.stringify(value).slice(1, -1), ...url, ...inBase64(Buffer.from(value))];
  return forms.filter(({ length }) => length >= MIN_CHARS);
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

// Only ASCII: other letters can change their length, and so all positions.
function lower(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function occurrences(text: string, form: string): Span[] {
  const found: Span[] = [];
  for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) found.push([at, at + form.length]);
  return found;
}

function beginningAtEnd(text: string, form: string): Span[] {
  for (let length = Math.min(form.length - 1, text.length); length >= MIN_BEGINNING_CHARS; length -= 1) {
    if (text.endsWith(form.slice(0, length))) return [[text.length - length, text.length]];
  }
  return [];
}

// Spans that overlap are masked as one: after one was replaced, half of the next would not be found any more.
function masked(text: string, spans: readonly Span[]): string {
  let clean = "";
  let done = 0;
  for (const [start, end] of spans.toSorted((one, other) => one[0] - other[0])) {
    if (end <= done) continue;
    if (start >= done) clean += text.slice(done, start) + MASK;
    done = end;
  }
  return clean + text.slice(done);
}
