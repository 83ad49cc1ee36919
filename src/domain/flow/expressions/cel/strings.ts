import { CelSyntaxError } from "./ast.ts";
import { utf8Encode } from "../utf8.ts";

const SIMPLE_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["\\", "\\"],
  ["?", "?"],
  ['"', '"'],
  ["'", "'"],
  ["`", "`"],
]);

/** Numeric escapes: hexadecimal with 2, 4 or 8 digits, and octal with 3. */
const NUMERIC_ESCAPE = /[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})/y;

interface Escape {
  readonly end: number;
  readonly text: string;
  /** The value of an escape that stands for one byte in a bytes literal. */
  readonly byte?: number;
}

const readEscape = (source: string, at: number, isBytes: boolean): Escape => {
  const simple = SIMPLE_ESCAPES.get(source.charAt(at + 1));
  if (simple !== undefined) return { end: at + 2, text: simple };
  NUMERIC_ESCAPE.lastIndex = at + 1;
  const found = NUMERIC_ESCAPE.exec(source);
  if (found === null) throw new CelSyntaxError(`Unknown escape "${source.slice(at, at + 2)}" in a string`, at);
  const [all, hex, short, long, octal] = found;
  const end = at + 1 + all.length;
  const point = Number.parseInt(hex ?? short ?? long ?? (octal as string), octal === undefined ? 16 : 8);
  const isByte = hex !== undefined || octal !== undefined;
  if (isBytes && !isByte) throw new CelSyntaxError("Bytes have no \\u escapes", at);
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
    throw new CelSyntaxError(`"${source.slice(at, end)}" is not a Unicode character`, at);
  }
  return isByte ? { end, text: String.fromCodePoint(point), byte: point } : { end, text: String.fromCodePoint(point) };
};

/** Reads a string or bytes literal whose prefix and first quote are `start`. Throws CelSyntaxError. */
export const readString = (
  source: string,
  at: number,
  start: string,
): { readonly end: number; readonly value: string | Uint8Array } => {
  const quote = start.charAt(start.length - 1);
  const isRaw = /r/i.test(start);
  const isBytes = /b/i.test(start);
  const tripled = quote.repeat(3);
  const first = at + start.length - 1;
  const close = source.startsWith(tripled, first) ? tripled : quote;
  const bytes: number[] = [];
  let text = "";
  const flush = (): void => {
    for (const byte of utf8Encode(text)) bytes.push(byte);
    text = "";
  };
  for (let i = first + close.length; i < source.length;) {
    if (source.startsWith(close, i)) {
      if (!isBytes) return { end: i + close.length, value: text };
      flush();
      return { end: i + close.length, value: Uint8Array.from(bytes) };
    }
    const char = source.charAt(i);
    if (close.length === 1 && (char === "\n" || char === "\r")) {
      throw new CelSyntaxError("A string must end on the line where it starts; write \\\n, or use three quotes", i);
    }
    if (char !== "\\" || isRaw) {
      text += char;
      i++;
      continue;
    }
    const escape = readEscape(source, i, isBytes);
    if (isBytes && escape.byte !== undefined) {
      flush();
      bytes.push(escape.byte);
    } else text += escape.text;
    i = escape.end;
  }
  throw new CelSyntaxError("The string is not closed", at);
};
