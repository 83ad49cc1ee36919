import { Drop, filters as engineFilters, toValue, type Context } from "liquidjs/dist/liquid.browser.mjs";
import { NodeFailure } from "../../../runs/failure.ts";
import { MAX_VALUE_BYTES } from "../../../json.ts";
import { formatDate } from "./date.ts";
import { UNITS_PER_ELEMENT } from "./operators.ts";
import { TEXT_FILTERS, type TextFilter } from "./text-filters.ts";
import { jsonText, meterOf, textOf, tooLarge, useWhole } from "./text.ts";
import { keyUnits, type Meter } from "../meter.ts";
import { searchUnits } from "../text-search.ts";
import { isArray, keysOfObject, toNumber, toStringOf } from "../natives.ts";

interface Call {
  readonly context: Context;
}
export type Filter = (this: Call, value: unknown, ...args: unknown[]) => unknown;

/** Filters of the engine that read text, with the units each takes a character: most are one native call. */
const TEXT_WEIGHTS: Readonly<Record<string, number>> = {
  append: 1,
  prepend: 1,
  capitalize: 1,
  downcase: 1,
  upcase: 1,
  strip: 1,
  lstrip: 1,
  rstrip: 1,
  strip_html: 2,
  strip_newlines: 2,
  newline_to_br: 4,
  squish: 10,
  normalize_whitespace: 10,
  escape: 6,
  xml_escape: 6,
  escape_once: 12,
  url_encode: 6,
  url_decode: 6,
  cgi_escape: 6,
  uri_escape: 6,
  slugify: 12,
  truncate: 2,
  truncatewords: 4,
  number_of_words: 4,
  replace: 1,
  remove: 1,
  replace_first: 1,
  remove_first: 1,
  replace_last: 1,
  remove_last: 1,
  split: 1,
  base64_encode: 12,
  base64_decode: 12,
};

/** Filters of the engine that walk over a list. Those that only take some of it cannot make anything larger. */
const LIST_FILTERS = [
  "first",
  "last",
  "reverse",
  "compact",
  "slice",
  "pop",
  "shift",
  "uniq",
  "array_to_sentence_string",
];
/** Their first argument is the path of a member, looked up in each element. */
const PATH_FILTERS = ["map", "sum", "where", "reject", "has", "find", "find_index"];
/** These put values into new lists, so that a few lines could nest or repeat without end: all of it is counted. */
const BUILDING_FILTERS = ["concat", "push", "unshift", "group_by"];
/** The engine would make a number of a list by way of the text of all that is in it. */
const NUMBER_FILTERS = [
  "abs",
  "at_least",
  "at_most",
  "ceil",
  "divided_by",
  "floor",
  "minus",
  "modulo",
  "plus",
  "round",
  "times",
  "to_integer",
];

const LONGEST_PATH = 256;
const UNITS_PER_PATH_CHAR = 8;
/** Looking up a path in an element makes a scope of it, some 2 µs, and reads the path, which may have a member a character. */
const lookupUnits = (path: unknown): number =>
  3 * UNITS_PER_ELEMENT + (typeof path === "string" ? path.length * UNITS_PER_PATH_CHAR : 0);

const engine = engineFilters as Readonly<Record<string, Filter>>;

const use = (value: unknown, meter: Meter): void => {
  if (isArray(value)) meter.use(value.length * UNITS_PER_ELEMENT);
  else if (typeof value === "string") meter.use(value.length);
};

const checkPath = (name: string, path: unknown): void => {
  if (path === undefined || (typeof path === "string" && path.length <= LONGEST_PATH)) return;
  throw new NodeFailure("template_failed", `${name} takes the name of a member, at most ${LONGEST_PATH} characters`);
};

const checkScalar = (name: string, value: unknown): void => {
  if (typeof value !== "object" || value === null || value instanceof Drop) return;
  throw new NodeFailure(
    "template_failed",
    `${name} compares with a text, a number or a boolean, not with a list or an object`,
  );
};

/** A list of one stands for its element, other lists and objects for no number. */
const numeric = (value: unknown, meter: Meter): unknown => {
  let plain: unknown = toValue(value);
  while (isArray(plain) && plain.length === 1) plain = plain[0];
  if (typeof plain === "string") meter.use(plain.length);
  return typeof plain === "object" && plain !== null ? 0 : plain;
};

/** Counts that the engine compares with again and again, making a number of a text each time. */
const count = (value: unknown, meter: Meter): unknown => {
  const plain = numeric(value, meter);
  return typeof plain === "string" ? toNumber(plain) : plain;
};

const onText = (name: string, weight: number): Filter => {
  const own: TextFilter | undefined = TEXT_FILTERS.get(name);
  const theirs = engine[name];
  return function filter(value, ...args) {
    const meter = meterOf(this.context);
    const text = textOf(value, meter);
    meter.use(text.length * weight + 1);
    const texts = args.map((arg, index) => {
      if (index === 0 && name.startsWith("truncate")) return count(arg, meter);
      return typeof arg === "object" && arg !== null ? textOf(arg, meter) : arg;
    });
    for (const arg of texts) {
      use(arg, meter);
      if (own !== undefined && typeof arg === "string") meter.use(4 * searchUnits(text, arg, name.endsWith("_last")));
    }
    const result =
      own === undefined
        ? theirs?.call(this, text, ...texts)
        : own(
            text,
            texts.map((arg) => textOf(arg, meter)),
            meter,
          );
    if (typeof result === "string") {
      if (result.length > MAX_VALUE_BYTES) throw tooLarge();
      meter.use(result.length);
    }
    return result;
  };
};

const onList = (name: string): Filter =>
  function filter(value, ...args) {
    const meter = meterOf(this.context);
    use(value, meter);
    if (name === "slice") return engine[name]?.call(this, value, ...args.map((arg) => count(arg, meter)));
    if (name === "array_to_sentence_string" && isArray(value)) {
      return engine[name]?.call(
        this,
        value.map((item) => textOf(item, meter)),
        ...args.map((arg) => textOf(arg, meter)),
      );
    }
    return engine[name]?.call(this, value, ...args);
  };

const onMembers = (name: string): Filter =>
  function filter(value, ...args) {
    const meter = meterOf(this.context);
    const [path, expected] = args;
    checkPath(name, path);
    checkScalar(name, expected);
    use(value, meter);
    if (isArray(value)) meter.use(value.length * lookupUnits(path));
    // Adding makes numbers of elements, and comparing with `empty` or `blank` looks at all of them.
    if (name === "sum" || expected instanceof Drop) useWhole(value, meter);
    return engine[name]?.call(this, value, ...args);
  };

const onNumbers = (name: string): Filter =>
  function filter(value, ...args) {
    const meter = meterOf(this.context);
    return engine[name]?.call(this, numeric(value, meter), ...args.map((arg) => numeric(arg, meter)));
  };

type SortKey = string | number | boolean | undefined;

/** What an element is compared by, made once; the engine makes it again for each comparison. */
const sortKey = (value: unknown, meter: Meter, natural: boolean): SortKey => {
  const plain: unknown = toValue(value);
  if (plain === null || plain === undefined) return undefined;
  useWhole(plain, meter);
  const key = typeof plain === "object" ? toStringOf(plain) : (plain as SortKey);
  return natural ? toStringOf(key).toLowerCase() : key;
};

/** As the engine's: what there is not comes last. */
const compareKeys = (one: SortKey, other: SortKey): number => {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
  return one < other ? -1 : one > other ? 1 : 0;
};

const sorting = (name: "sort" | "sort_natural"): Filter =>
  function* filter(value, path): Generator<unknown, unknown[], unknown> {
    const meter = meterOf(this.context);
    checkPath(name, path);
    const plain: unknown = toValue(value) ?? [];
    const list: readonly unknown[] = isArray(plain) ? plain : [plain];
    use(list, meter);
    meter.use(list.length * 2 * Math.log2(list.length));
    if (path) meter.use(list.length * lookupUnits(path));
    const members = path ? ((yield engine["map"]?.call(this, list, path)) as readonly unknown[]) : list;
    const entries = list.map((item, index) => ({ item, key: sortKey(members[index], meter, name === "sort_natural") }));
    return entries.sort((one, other) => compareKeys(one.key, other.key)).map(({ item }) => item);
  };

const building = (name: string): Filter =>
  function filter(value, ...args) {
    const meter = meterOf(this.context);
    use(value, meter);
    for (const part of [value, ...args]) useWhole(part, meter);
    if (name === "group_by") {
      checkPath(name, args[0]);
      if (isArray(value)) meter.use(value.length * lookupUnits(args[0]));
    }
    return engine[name]?.call(this, value, ...args);
  };

const join: Filter = function join(value, separator) {
  const meter = meterOf(this.context);
  use(value, meter);
  const between = separator === undefined ? " " : textOf(separator, meter);
  if (!isArray(value)) return textOf(value, meter);
  const texts = value.map((item) => textOf(item, meter));
  const chars = texts.reduce((sum, text) => sum + text.length + between.length, 0);
  if (chars > MAX_VALUE_BYTES + between.length) throw tooLarge();
  meter.use(chars);
  return texts.join(between);
};

const size: Filter = function size(value) {
  const plain: unknown = toValue(value);
  if (typeof plain === "string" || isArray(plain)) return plain.length;
  if (typeof plain !== "object" || plain === null) return 0;
  const members = keysOfObject(plain).length;
  meterOf(this.context).use(4 * keyUnits(members));
  return members;
};

const json: Filter = function json(value, indent) {
  const spaces = typeof indent === "number" && indent > 0 ? Math.min(Math.trunc(indent), 8) : 0;
  return jsonText(value, meterOf(this.context), spaces);
};

const date: Filter = function date(value, format) {
  return formatDate(toValue(value), toValue(format), meterOf(this.context));
};

/**
 * All filters there are. Left out of the engine's: `sample` (random), `sha256` and `hmac_sha256` (asynchronous), and
 * those that evaluate a text as an expression (`where_exp` and its kin), because that text could come from a user.
 */
export const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ...Object.entries(TEXT_WEIGHTS).map(([name, weight]) => [name, onText(name, weight)] as const),
  ...LIST_FILTERS.map((name) => [name, onList(name)] as const),
  ...PATH_FILTERS.map((name) => [name, onMembers(name)] as const),
  ...BUILDING_FILTERS.map((name) => [name, building(name)] as const),
  ...NUMBER_FILTERS.map((name) => [name, onNumbers(name)] as const),
  ["default", engine["default"] as Filter],
  ["sort", sorting("sort")],
  ["sort_natural", sorting("sort_natural")],
  ["join", join],
  ["size", size],
  ["json", json],
  ["jsonify", json],
  ["inspect", json],
  ["date", date],
  // There is no automatic escaping that `raw` could switch off; templates that have it still work.
  ["raw", (value) => value],
]);
