import { nextSlice } from "../slices.ts";

/** From this length on a text is parsed in slices, in bytes. */
const LONG_JSON_BYTES = 256 * 1024;
/** Bytes parsed in one slice: a millisecond or two. */
const SLICE_BYTES = 64 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BYTE_ORDER_MARK = Buffer.from("\ufeff");
/** Tab, line feed, carriage return, space. */
const BLANKS: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20]);

/** Thrown for invalid JSON, with the position of the error if it is known. */
export class JsonFault extends Error {
  readonly position: number | undefined;

  constructor(message: string, position?: number) {
    super(message);
    this.position = position;
  }
}

/** Parses a slice that is valid JSON on its own. Throws a SyntaxError. */
type ParseText = (text: string) => unknown;

/** Parses a JSON text in UTF-8. A long text is parsed in slices, between which the event loop serves other work. Throws a JsonFault. */
export async function parseJson(bytes: Buffer, parseText: ParseText = JSON.parse): Promise<unknown> {
  const start = bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0;
  if (bytes.length < LONG_JSON_BYTES) return parseNative(parseText, bytes.toString("utf8", start), 0);
  const parser = new SliceParser(bytes, start, parseText);
  do await nextSlice();
  while (!parser.step());
  return parser.value;
}

/** An open array or object. */
interface Frame {
  readonly isArray: boolean;
  readonly opening: number;
  /** Created when the first elements are parsed; until then the text belongs to its parent's slice. */
  target: unknown[] | Record<string, unknown> | null;
  /** Where the unparsed text begins. */
  from: number;
  /** Start of the current element; in an object, this includes its name. */
  element: number;
  /** Whether the current element is already parsed, so that only a comma or the end may follow. */
  isFilled: boolean;
}

/**
 * Parses with JSON.parse, one slice at a time: whenever enough text has arrived since the last slice, the elements that the innermost array
 * or object has gathered are parsed and added to its value.
 */
class SliceParser {
  value: unknown = undefined;
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #frames: Frame[] = [];
  #at: number;
  #inString = false;
  #parsedTo: number;
  /** Where the outermost value ends, if it was parsed in slices. */
  #end: number | null = null;
  readonly #parseText: ParseText;

  constructor(bytes: Buffer, start: number, parseText: ParseText) {
    this.#bytes = bytes;
    this.#parseText = parseText;
    this.#start = start;
    this.#at = start;
    this.#parsedTo = start;
  }

  /** Continues for one slice; true when the value is complete. */
  step(): boolean {
    const bytes = this.#bytes;
    const stop = Math.min(bytes.length, this.#at + SLICE_BYTES);
    while (this.#at < stop) {
      if (this.#inString) {
        this.#passQuote();
        continue;
      }
      const at = this.#at++;
      const byte = bytes[at];
      if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#open(byte === OPEN_ARRAY, at);
      else if (byte === COMMA) this.#comma(at);
      else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.#close(byte === CLOSE_ARRAY, at);
    }
    if (this.#at < bytes.length) return false;
    if (this.#inString || this.#frames.length > 0) throw new JsonFault("The JSON text ends too early", bytes.length);
    if (this.#end === null) this.value = this.#parse("", this.#start, bytes.length, "");
    else this.#requireBlank(this.#end, bytes.length);
    return true;
  }

  /** Continues after the next quote, which ends the string unless it is escaped. */
  #passQuote(): void {
    const quote = this.#bytes.indexOf(QUOTE, this.#at);
    if (quote === -1) throw new JsonFault("A string is not closed", this.#at);
    let escapes = 0;
    while (this.#bytes[quote - 1 - escapes] === BACKSLASH) escapes++;
    this.#at = quote + 1;
    this.#inString = escapes % 2 === 1;
  }

  #open(isArray: boolean, at: number): void {
    if (this.#end !== null) throw new JsonFault("There is text after the JSON value", at);
    this.#frames.push({ isArray, opening: at, target: null, from: at + 1, element: at + 1, isFilled: false });
  }

  #comma(at: number): void {
    const frame = this.#frames.at(-1);
    if (!frame) throw new JsonFault("Unexpected comma", at);
    frame.element = at + 1;
    if (frame.isFilled) this.#requireBlank(frame.from, at);
    else if (at - this.#parsedTo >= SLICE_BYTES) this.#add(frame, at);
    else return;
    frame.isFilled = false;
    frame.from = at + 1;
  }

  #close(isArray: boolean, at: number): void {
    const frame = this.#frames.pop();
    if (frame?.isArray !== isArray) throw new JsonFault("Unexpected bracket", at);
    if (frame.target === null) return;
    if (frame.isFilled) this.#requireBlank(frame.from, at);
    else this.#add(frame, at);
    const parent = this.#frames.at(-1);
    if (parent) return this.#adopt(parent, frame, at + 1);
    this.#requireBlank(this.#start, frame.opening);
    this.value = frame.target;
    this.#end = at + 1;
  }

  /** Parses the elements that a frame has gathered so far; there is at least one. */
  #add(frame: Frame, to: number): void {
    const part = this.#parse(frame.isArray ? "[" : "{", frame.from, to, frame.isArray ? "]" : "}") as object;
    this.#parsedTo = to;
    const elements = Object.entries(part);
    if (elements.length === 0) throw new JsonFault("An array element is missing", to);
    for (const [name, value] of elements) put(frame, name, value);
  }

  /** Stores the value of a completed frame as the current element of its parent. */
  #adopt(parent: Frame, child: Frame, end: number): void {
    if (parent.element > parent.from) this.#add(parent, parent.element - 1);
    if (parent.isArray) {
      this.#requireBlank(parent.element, child.opening);
      put(parent, "", child.target);
    } else {
      const [name, ...others] = Object.keys(this.#parse("{", parent.element, child.opening, "null}") as object);
      if (name === undefined || others.length > 0) throw new JsonFault("A field name is missing", parent.element);
      put(parent, name, child.target);
    }
    parent.from = end;
    parent.isFilled = true;
  }

  #requireBlank(from: number, to: number): void {
    for (let at = from; at < to; at++)
      if (!BLANKS.has(this.#bytes[at] ?? 0)) throw new JsonFault("Unexpected text", at);
  }

  #parse(before: string, from: number, to: number, behind: string): unknown {
    const text = before + this.#bytes.toString("utf8", from, to) + behind;
    return parseNative(this.#parseText, text, from - before.length);
  }
}

function put(frame: Frame, name: string, value: unknown): void {
  frame.target ??= frame.isArray ? [] : {};
  if (Array.isArray(frame.target)) frame.target.push(value);
  // An assignment to `__proto__` would set the prototype.
  else if (name === "__proto__")
    Object.defineProperty(frame.target, name, { value, enumerable: true, configurable: true, writable: true });
  else frame.target[name] = value;
}

function parseNative(parseText: ParseText, text: string, offset: number): unknown {
  try {
    return parseText(text);
  } catch (error) {
    // The parser quotes the text around the error; it belongs to the client, but may be long or secret.
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    // For a short text the error may have no position; use the beginning of the slice, which is near it.
    const near = offset > 0 ? offset : undefined;
    throw new JsonFault("The text is not valid JSON", position === undefined ? near : Number(position) + offset);
  }
}
