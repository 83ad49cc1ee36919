import { patternSize } from "../pattern-size.ts";
import { compileRegex, type Regex } from "../regex.ts";
import { charsOf, positionOf, unitAt } from "./chars.ts";
import type { CelFunction } from "./functions.ts";
import { limitText } from "./limits.ts";
import { describe, failed, isList, type Value } from "./values.ts";
import type { Meter } from "../meter.ts";
import { indexOf, lastIndexOf, searchUnits, splitText } from "../text-search.ts";
import { isInteger, toBigInt, toNumber } from "../natives.ts";

/** Compiling a pattern takes this, or more by its size. One that is a literal is compiled before anything is evaluated. */
const COMPILE_UNITS = 20_000;
const COMPILE_UNITS_PER_PART = 50;
/** Matching takes up to 8 ns an instruction and character. */
const INSTRUCTIONS_PER_UNIT = 4;
/** A piece of text cut out of another. */
const UNITS_PER_PART = 2;

const textArg = (name: string, args: readonly Value[], index: number): string => {
  const value = args[index];
  if (typeof value === "string") return value;
  const what = index === 0 ? "is called on text, not on" : "takes text, not";
  throw failed(`${name}() ${what} ${describe(value as Value)}: string(...) makes text of a value`);
};

const wholeArg = (name: string, args: readonly Value[], index: number): number => {
  const value = args[index];
  const whole = typeof value === "bigint" || typeof value === "number" ? toNumber(value) : Number.NaN;
  if (isInteger(whole)) return whole;
  throw failed(`${name}() takes a whole number, not ${describe(value as Value)}`);
};

const unitArg = (name: string, text: string, args: readonly Value[], index: number, meter: Meter): number => {
  const position = wholeArg(name, args, index);
  const unit = unitAt(text, position, meter);
  if (unit === undefined) throw failed(`${name}(): position ${position} is outside the text`);
  return unit;
};

const find = (name: string, args: readonly Value[], meter: Meter): Value => {
  const text = textArg(name, args, 0);
  const part = textArg(name, args, 1);
  meter.use(searchUnits(text, part, name === "lastIndexOf"));
  if (name === "indexOf") {
    const from = args.length > 2 ? unitArg(name, text, args, 2, meter) : 0;
    return toBigInt(positionOf(text, indexOf(text, part, from), meter));
  }
  const from = args.length > 2 ? unitArg(name, text, args, 2, meter) : text.length;
  return toBigInt(positionOf(text, lastIndexOf(text, part, from), meter));
};

const split = (args: readonly Value[], meter: Meter): Value => {
  const text = textArg("split", args, 0);
  const separator = textArg("split", args, 1);
  const most = args.length > 2 ? wholeArg("split", args, 2) : -1;
  meter.use(searchUnits(text, separator));
  if (most === 0) return [];
  if (separator !== "") return splitText(text, separator, meter, UNITS_PER_PART, most < 0 ? Infinity : most);
  const chars = charsOf(text, meter);
  return most < 0 || chars.length <= most ? chars : [...chars.slice(0, most - 1), chars.slice(most - 1).join("")];
};

const replace = (args: readonly Value[], meter: Meter): Value => {
  const text = textArg("replace", args, 0);
  const from = textArg("replace", args, 1);
  const to = textArg("replace", args, 2);
  const most = args.length > 3 ? wholeArg("replace", args, 3) : -1;
  if (most === 0) return text;
  meter.use(searchUnits(text, from));
  const parts = from === "" ? ["", ...charsOf(text, meter), ""] : splitText(text, from, meter, UNITS_PER_PART);
  const replaced = most < 0 ? parts.length - 1 : Math.min(most, parts.length - 1);
  limitText(text.length + replaced * (to.length - from.length), meter);
  const rest = parts.slice(replaced).join(from);
  return replaced === 0 ? text : [...parts.slice(0, replaced), rest].join(to);
};

const join = (args: readonly Value[], meter: Meter): Value => {
  const [list] = args;
  if (list === undefined || !isList(list)) throw failed(`join() is called on a list, not on ${describe(list ?? null)}`);
  const separator = args.length > 1 ? textArg("join", args, 1) : "";
  meter.use(list.length);
  const texts: string[] = [];
  let chars = 0;
  for (const item of list) {
    if (typeof item !== "string") {
      throw failed(`join() takes a list of texts, but one element is ${describe(item)}: use .map(x, string(x)) first`);
    }
    chars += item.length + separator.length;
    texts.push(item);
  }
  limitText(chars, meter);
  return texts.join(separator);
};

const test = (text: string, regex: Regex, meter: Meter): boolean => {
  meter.use((text.length * regex.instructions) / INSTRUCTIONS_PER_UNIT);
  return regex.test(text);
};

const matches = (args: readonly Value[], meter: Meter): Value => {
  const text = textArg("matches", args, 0);
  const pattern = textArg("matches", args, 1);
  meter.use(COMPILE_UNITS + pattern.length);
  meter.use(patternSize(pattern) * COMPILE_UNITS_PER_PART - COMPILE_UNITS);
  const compiled = compileRegex(pattern);
  if (!compiled.ok) throw failed(compiled.message);
  return test(text, compiled.regex, meter);
};

/** `text.matches("literal")` with its pattern already compiled. Throws NodeFailure. */
export const testLiteralPattern = (text: Value, regex: Regex, meter: Meter): boolean =>
  test(textArg("matches", [text], 0), regex, meter);

const charAt = (args: readonly Value[], meter: Meter): Value => {
  const text = textArg("charAt", args, 0);
  const unit = unitArg("charAt", text, args, 1, meter);
  const point = text.codePointAt(unit);
  return point === undefined ? "" : String.fromCodePoint(point);
};

const substring = (args: readonly Value[], meter: Meter): Value => {
  const text = textArg("substring", args, 0);
  const start = unitArg("substring", text, args, 1, meter);
  const end = args.length > 2 ? unitArg("substring", text, args, 2, meter) : text.length;
  if (end < start) throw failed("substring(): the end lies before the start");
  return text.slice(start, end);
};

/** A method on text that gives a value of text and a cost of so many units a character, as a power of two. */
const onText = (name: string, shift: number, apply: (text: string) => Value): readonly [string, CelFunction] => [
  name,
  {
    method: [0],
    apply: (args, meter) => {
      const text = textArg(name, args, 0);
      meter.use(text.length >> shift);
      return apply(text);
    },
  },
];

const onTwoTexts = (name: string, apply: (text: string, part: string) => boolean): readonly [string, CelFunction] => [
  name,
  {
    method: [1],
    apply: (args, meter) => {
      const text = textArg(name, args, 0);
      const part = textArg(name, args, 1);
      meter.use(searchUnits(text, part));
      return apply(text, part);
    },
  },
];

/** The string functions of CEL and of its string extension. */
export const STRING_FUNCTIONS: ReadonlyArray<readonly [string, CelFunction]> = [
  onText("trim", 4, (text) => text.trim()),
  onText("lowerAscii", 2, (text) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())),
  onText("upperAscii", 2, (text) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase())),
  onTwoTexts("contains", (text, part) => indexOf(text, part) >= 0),
  onTwoTexts("startsWith", (text, part) => text.startsWith(part)),
  onTwoTexts("endsWith", (text, part) => text.endsWith(part)),
  ["matches", { plain: [2], method: [1], apply: matches }],
  ["charAt", { method: [1], apply: charAt }],
  ["indexOf", { method: [1, 2], apply: (args, meter) => find("indexOf", args, meter) }],
  ["lastIndexOf", { method: [1, 2], apply: (args, meter) => find("lastIndexOf", args, meter) }],
  ["substring", { method: [1, 2], apply: substring }],
  ["replace", { method: [2, 3], apply: replace }],
  ["split", { method: [1, 2], apply: split }],
  ["join", { method: [0, 1], apply: join }],
];
