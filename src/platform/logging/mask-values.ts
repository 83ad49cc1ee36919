import { MASK } from "./redaction.ts";

/** Shorter values (characters) stand in innocent text by chance: they stay. */
const MIN_CHARS = 4;
/** The same of a part of a value, which nobody chose to be a secret by itself, and of a value in base64. */
const MIN_PART_CHARS = 8;
/** The same of the beginning of a value, where the text is cut. */
const MIN_BEGINNING_CHARS = 3;

/**
 * Masks known values in text that others wrote, as it came and in the forms that an echo gives it: JSON, URL, HTML, base64.
 * `cut` says that the text ends somewhere: then the beginning of a value at its end is masked as well.
 */
export type MaskValues = (text: string, cut?: boolean) => string;

export function createMaskValues(values: readonly string[]): MaskValues {
  // Made when they are needed first: most answers have no text.
  let forms: readonly string[] | undefined;
  return (text, cut = false) => {
    forms ??= [...new Set(values.flatMap(withParts).flatMap(formsOf).map(lower))];
    const within = lower(text);
    const spans = forms.flatMap((form) => occurrences(within, form));
    if (cut) spans.push(...forms.flatMap((form) => beginningAtEnd(within, form)));
    return masked(text, spans);
  };
}

/** From where to where in a text. */
type Span = readonly [start: number, end: number];

/** A value and what a receiver makes of it when it takes it apart: the token after "Bearer", the members of a cookie. */
function withParts(value: string): string[] {
  const whole = value.trim();
  if (whole.length < MIN_CHARS) return [];
  const words = whole.split(/[\s;,]+/);
  const parts = words.flatMap((word) => [word, word.slice(word.indexOf("=") + 1)]);
  const credentials = /^basic\s+(\S+)$/i.exec(whole)?.[1];
  if (credentials !== undefined) {
    const login = Buffer.from(credentials, "base64").toString("utf8");
    parts.push(login, login.slice(login.indexOf(":") + 1));
  }
  return [whole, ...parts.filter((part) => part.length >= MIN_PART_CHARS)];
}

function formsOf(value: string): string[] {
  const bytes = Buffer.from(value, "utf8");
  const json = JSON.stringify(value).slice(1, -1);
  const forms = [
    value,
    json,
    json.replaceAll("/", "\\/"),
    JSON.stringify(json).slice(1, -1),
    ascii(json),
    ascii(json).replaceAll("/", "\\/"),
    encodeURIComponent(bytes.toString("utf8")),
    new URLSearchParams({ "": value }).toString().slice(1),
    html(value),
    // Headers go out as Latin-1; a receiver that echoes those bytes did not send UTF-8.
    Buffer.from(value, "latin1").toString("utf8"),
    ...inBase64(bytes),
  ];
  return forms.filter((form) => form.length >= MIN_CHARS);
}

function ascii(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function html(value: string): string {
  const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return value.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}

/** What the bytes look like inside base64: that depends on how many bytes stand before them, modulo three. */
function inBase64(bytes: Buffer): string[] {
  const forms = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    // Characters at both ends share their bits with what stands beside the value.
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  const long = [bytes.toString("base64").replace(/=+$/, ""), ...forms].filter((form) => form.length >= MIN_PART_CHARS);
  return [...long, ...long.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))];
}

// Only ASCII: other letters change their length, and with it where everything stands.
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
