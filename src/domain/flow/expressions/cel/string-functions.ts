import { compileRegex, type Regex } from "../regex.ts";
import type { CelFunction } from "./cel-function.ts";
import { charsOf, positionOf, unitAt } from "./chars.ts";
import { limitList, limitText, MAX_ITEMS, type Meter } from "./limits.ts";
import { describe, failed, isList, type Value } from "./values.ts";
import { isInteger, toBigInt, toNumber } from "../natives.ts";

/**
 * Compiling a pattern takes 2 µs per instruction. A rejected pattern may have been much longer, so it costs a fixed number. A literal
 * pattern is compiled before evaluation.
 */
const COMPILE_TICKS_PER_INSTRUCTION = 100;
const REFUSED_PATTERN_TICKS = 1_000_000;
/** Matching takes up to 8 ns per instruction and character. */
const INSTRUCTIONS_PER_TICK = 4;

const textArg = (name: string, args: readonly Value[], index: number): string => {
  const value = args[index];
  if (typeof value === "string") return value;
  const what = index === 0 ? "must be called on text, not on" : "needs text, not";
  throw failed(`${name}() ${what} ${describe(value as Value)}: use string(...) to convert a value to text`);
};

const wholeArg = (name: string, args: readonly Value[], index: number): number => {
  const value = args[index];
  const whole = typeof value === "bigint" || typeof value === "number" ? toNumber(value) : Number.NaN;
  if (isInteger(whole)) return whole;
  throw failed(`${name}() needs a whole number, not ${describe(value as Value)}`);
};

const unitArg = (name: string, text: string, args: readonly Value[], index: number): number => {
  const position = wholeArg(name, args, index);
  const unit = unitAt(text, position);
  if (unit === undefined) throw failed(`${name}(): position ${position} is outside the text`);
  return unit;
};

const find = (name: "indexOf" | "lastIndexOf", args: readonly Value[]): Value => {
  const text = textArg(name, args, 0);
  const part = textArg(name, args, 1);
  const start = name === "indexOf" ? 0 : text.length;
  const from = args.length > 2 ? unitArg(name, text, args, 2) : start;
  return toBigInt(positionOf(text, text[name](part, from)));
};

/** The parts of a text between separators; an empty separator splits into characters. */
const partsOf = (text: string, separator: string): readonly string[] => {
  if (separator === "") limitList(text.length);
  // Splits into at most one part more than allowed, which is enough to detect too many.
  const parts = separator === "" ? charsOf(text) : text.split(separator, MAX_ITEMS + 1);
  limitList(parts.length);
  return parts;
};

const split = (args: readonly Value[]): Value => {
  const text = textArg("split", args, 0);
  const separator = textArg("split", args, 1);
  const most = args.length > 2 ? wholeArg("split", args, 2) : -1;
  if (most === 0) return [];
  const parts = partsOf(text, separator);
  return most < 0 || parts.length <= most
    ? parts
    : [...parts.slice(0, most - 1), parts.slice(most - 1).join(separator)];
};

const replace = (args: readonly Value[]): Value => {
  const text = textArg("replace", args, 0);
  const from = textArg("replace", args, 1);
  const to = textArg("replace", args, 2);
  const most = args.length > 3 ? wholeArg("replace", args, 3) : -1;
  if (most === 0) return text;
  const found = partsOf(text, from);
  const parts = from === "" ? ["", ...found, ""] : found;
  const replaced = most < 0 ? parts.length - 1 : Math.min(most, parts.length - 1);
  limitText(text.length + replaced * (to.length - from.length));
  const rest = parts.slice(replaced).join(from);
  return replaced === 0 ? text : [...parts.slice(0, replaced), rest].join(to);
};

const join = (args: readonly Value[]): Value => {
  const [list] = args;
  if (list === undefined || !isList(list))
    throw failed(`join() must be called on a list, not on ${describe(list ?? null)}`);
  const separator = args.length > 1 ? textArg("join", args, 1) : "";
  const texts: string[] = [];
  let chars = 0;
  for (const item of list) {
    if (typeof item !== "string") {
      throw failed(`join() needs a list of texts, but one element is ${describe(item)}: use .map(x, string(x)) first`);
    }
    chars += item.length + separator.length;
    texts.push(item);
  }
  limitText(chars);
  return texts.join(separator);
};

const test = (text: string, regex: Regex, meter: Meter): boolean => {
  meter.use((text.length * regex.instructions) / INSTRUCTIONS_PER_TICK);
  return regex.test(text);
};

const matches = (args: readonly Value[], meter: Meter): Value => {
  const text = textArg("matches", args, 0);
  const pattern = textArg("matches", args, 1);
  const compiled = compileRegex(pattern);
  meter.use(compiled.ok ? compiled.regex.instructions * COMPILE_TICKS_PER_INSTRUCTION : REFUSED_PATTERN_TICKS);
  if (!compiled.ok) throw failed(compiled.message);
  return test(text, compiled.regex, meter);
};

/** `text.matches("literal")` with its pattern already compiled. Throws NodeFailure. */
export const testLiteralPattern = (text: Value, regex: Regex, meter: Meter): boolean =>
  test(textArg("matches", [text], 0), regex, meter);

const charAt = (args: readonly Value[]): Value => {
  const text = textArg("charAt", args, 0);
  const unit = unitArg("charAt", text, args, 1);
  const point = text.codePointAt(unit);
  return point === undefined ? "" : String.fromCodePoint(point);
};

const substring = (args: readonly Value[]): Value => {
  const text = textArg("substring", args, 0);
  const start = unitArg("substring", text, args, 1);
  const end = args.length > 2 ? unitArg("substring", text, args, 2) : text.length;
  if (end < start) throw failed("substring(): the end is before the start");
  return text.slice(start, end);
};

const onText = (name: string, apply: (text: string) => Value): readonly [string, CelFunction] => [
  name,
  { method: [0], apply: (args) => apply(textArg(name, args, 0)) },
];

const onTwoTexts = (name: string, apply: (text: string, part: string) => boolean): readonly [string, CelFunction] => [
  name,
  { method: [1], apply: (args) => apply(textArg(name, args, 0), textArg(name, args, 1)) },
];

/** White space by Unicode's definition, from which JavaScript's `trim` differs: it keeps U+0085 and removes U+FEFF. */
const BLANK = /^\p{White_Space}$/u;

const trim = (text: string): string => {
  let start = 0;
  let end = text.length;
  while (start < end && BLANK.test(text.charAt(start))) start++;
  while (end > start && BLANK.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
};

/** The string functions of CEL and of its string extension. */
export const STRING_FUNCTIONS: ReadonlyArray<readonly [string, CelFunction]> = [
  onText("trim", trim),
  onText("lowerAscii", (text) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())),
  onText("upperAscii", (text) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase())),
  onTwoTexts("contains", (text, part) => text.includes(part)),
  onTwoTexts("startsWith", (text, part) => text.startsWith(part)),
  onTwoTexts("endsWith", (text, part) => text.endsWith(part)),
  ["matches", { plain: [2], method: [1], apply: matches }],
  ["charAt", { method: [1], apply: charAt }],
  ["indexOf", { method: [1, 2], apply: (args) => find("indexOf", args) }],
  ["lastIndexOf", { method: [1, 2], apply: (args) => find("lastIndexOf", args) }],
  ["substring", { method: [1, 2], apply: substring }],
  ["replace", { method: [2, 3], apply: replace }],
  ["split", { method: [1, 2], apply: split }],
  ["join", { method: [0, 1], apply: join }],
];
