import { NodeFailure } from "../../domain/runs/failure.ts";
import type { Json } from "../../domain/json.ts";
import { nextSlice } from "../slices.ts";
import { wholeOf } from "../whole.ts";
import { jsonText } from "./json-text.ts";

/** From this length on a value is written in slices, in characters of its JSON. */
const LONG_JSON_CHARS = 256 * 1024;
/** Characters written in one slice: a fraction of a millisecond. */
const SLICE_CHARS = 64 * 1024;
/** Approximate characters that a field or an item takes in addition to its text. */
const MEMBER_CHARS = 4;
/** About as deep as JSON.stringify can go. */
const MAX_DEPTH = 4000;

/** Whether the JSON of a value is so long that it is written in slices. Examines only as much of the value as needed. */
export function isLong(value: Json): boolean {
  const open: Json[] = [value];
  let chars = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === "string") chars += next.length;
    else if (Array.isArray(next)) {
      chars += next.length * MEMBER_CHARS;
      if (chars < LONG_JSON_CHARS) open.push(...(next as Json[]));
    } else if (typeof next === "object" && next !== null) {
      for (const [name, member] of Object.entries(next)) {
        chars += name.length + MEMBER_CHARS;
        open.push(member);
      }
    }
    if (chars >= LONG_JSON_CHARS) return true;
  }
  return false;
}

/** The whole JSON of a value, in UTF-8. Throws NodeFailure `value_too_deep`. */
export async function bytesOf(value: Json): Promise<Buffer> {
  return isLong(value) ? wholeOf(jsonBytes(value)) : Buffer.from(jsonText(value));
}

/**
 * The JSON of a value in UTF-8, one slice at a time, between which the event loop serves other work. Throws NodeFailure `value_too_deep` if
 * it is nested too deep to be parsed again.
 */
export async function* jsonBytes(value: Json): AsyncGenerator<Buffer, void, undefined> {
  let text = "";
  for (const part of partsOf(value)) {
    text += part;
    if (text.length < SLICE_CHARS) continue;
    yield Buffer.from(text);
    text = "";
    await nextSlice();
  }
  if (text !== "") yield Buffer.from(text);
}

/** An array or object that is being written: its remaining elements, and its closing bracket. */
interface Open {
  readonly members: Iterator<readonly [string | number, Json | undefined]>;
  readonly isArray: boolean;
  isFirst: boolean;
}

/** The JSON of a value in parts no longer than a slice. Undefined fields are omitted, as by JSON.stringify. */
function* partsOf(value: Json): Generator<string, void, undefined> {
  const open: Open[] = [];
  function* one(each: Json | undefined): Generator<string, void, undefined> {
    if (typeof each === "object" && each !== null) {
      if (open.length === MAX_DEPTH) throw new NodeFailure("value_too_deep", "The value is nested too deeply.");
      const isArray = Array.isArray(each);
      open.push({ members: isArray ? each.entries() : Object.entries(each).values(), isArray, isFirst: true });
      yield isArray ? "[" : "{";
    } else if (typeof each === "string" && each.length > SLICE_CHARS) yield* longString(each);
    else yield JSON.stringify(each ?? null);
  }
  yield* one(value);
  for (let innermost = open.at(-1); innermost !== undefined; innermost = open.at(-1)) {
    const { members, isArray } = innermost;
    const member = members.next();
    if (member.done === true) {
      open.pop();
      yield isArray ? "]" : "}";
      continue;
    }
    const [name, each] = member.value;
    if (each === undefined && !isArray) continue;
    const comma = innermost.isFirst ? "" : ",";
    innermost.isFirst = false;
    yield isArray ? comma : `${comma}${JSON.stringify(name)}:`;
    yield* one(each);
  }
}

function* longString(text: string): Generator<string, void, undefined> {
  yield '"';
  for (let at = 0; at < text.length;) {
    let end = at + SLICE_CHARS;
    // A surrogate pair is not split, because each half would be escaped.
    if (isHighSurrogate(text.charCodeAt(end - 1))) end += 1;
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
  yield '"';
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
