import { NodeFailure } from "../../../runs/failure.ts";
import { MAX_VALUE_BYTES } from "../../../json.ts";
import { tooLarge } from "./text.ts";
import type { Meter } from "../meter.ts";
import { indexOf, lastIndexOf, splitText } from "../text-search.ts";
import { base64Decode, base64Encode, utf8Decode, utf8Encode } from "../utf8.ts";

/** A filter from texts to something; arguments that are no text (numbers) have been made text too. */
export type TextFilter = (text: string, args: readonly string[], meter: Meter) => unknown;

/** A piece of text weighs far more than the characters it came from. */
const UNITS_PER_PART = 32;

const limited = (chars: number, meter: Meter): void => {
  if (chars > MAX_VALUE_BYTES) throw tooLarge();
  meter.use(chars);
};

/** Parts between the occurrences of a separator; between all characters where it is empty. */
const partsOf = (text: string, separator: string, meter: Meter): string[] => {
  if (separator !== "") return splitText(text, separator, meter, UNITS_PER_PART);
  meter.use(text.length * (UNITS_PER_PART / 2));
  return text.split("");
};

const replaceAll: TextFilter = (text, [from = "", to = ""], meter) => {
  const parts = partsOf(text, from, meter);
  limited(text.length + (parts.length - 1) * (to.length - from.length), meter);
  return parts.join(to);
};

const replaceAt = (text: string, at: number, from: string, to: string): string =>
  at < 0 ? text : text.slice(0, at) + to + text.slice(at + from.length);

const split: TextFilter = (text, [separator = ""], meter) => {
  const parts = partsOf(text, separator, meter);
  while (parts.length > 0 && parts[parts.length - 1] === "") parts.pop();
  return parts;
};

const decode: TextFilter = (text) => {
  const bytes = base64Decode(text);
  const decoded = bytes === undefined ? undefined : utf8Decode(bytes);
  if (decoded === undefined)
    throw new NodeFailure("template_failed", "base64_decode was given what is not base64 of text");
  return decoded;
};

/**
 * Text filters of our own: searching for a text of any length must take linear time, and the encodings of the engine
 * need what the workflow's sandbox has not.
 */
export const TEXT_FILTERS: ReadonlyMap<string, TextFilter> = new Map<string, TextFilter>([
  ["replace", replaceAll],
  ["remove", (text, [from = ""], meter) => replaceAll(text, [from, ""], meter)],
  ["replace_first", (text, [from = "", to = ""]) => replaceAt(text, indexOf(text, from), from, to)],
  ["remove_first", (text, [from = ""]) => replaceAt(text, indexOf(text, from), from, "")],
  ["replace_last", (text, [from = "", to = ""]) => replaceAt(text, lastIndexOf(text, from), from, to)],
  ["remove_last", (text, [from = ""]) => replaceAt(text, lastIndexOf(text, from), from, "")],
  ["split", split],
  ["base64_encode", (text) => base64Encode(utf8Encode(text))],
  ["base64_decode", decode],
]);
