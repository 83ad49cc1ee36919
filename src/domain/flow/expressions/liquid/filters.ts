import { toValue, type FilterImplOptions, type Liquid } from "liquidjs/dist/liquid.browser.mjs";
import { charsOf } from "../cel/chars.ts";
import { TemplateContext } from "./context.ts";
import { formatDate } from "./date.ts";
import { computeExactly, EXACT, sumExactly } from "./numbers.ts";
import { textOf } from "./text.ts";

/** The engine's text filters. They convert a value that is not text in the same way as output does. */
const TEXT_FILTERS = [
  "append prepend capitalize downcase upcase strip lstrip rstrip strip_html strip_newlines newline_to_br squish",
  "normalize_whitespace escape xml_escape escape_once url_encode url_decode cgi_escape uri_escape slugify truncate",
  "truncatewords number_of_words replace remove replace_first remove_first replace_last remove_last",
  "base64_encode base64_decode",
].flatMap((names) => names.split(" "));

/**
 * Removed engine filters: random ones, asynchronous ones, and the ones that evaluate a text as an expression, because that text could come
 * from a user.
 */
const LEFT_OUT =
  "sample sha256 hmac_sha256 where_exp reject_exp group_by_exp has_exp find_exp find_index_exp date_to_xmlschema date_to_rfc822 date_to_string date_to_long_string";

type Plain = (
  this: ThisParameterType<Extract<FilterImplOptions, (...args: never) => unknown>>,
  ...args: unknown[]
) => unknown;

type Steps = (this: ThisParameterType<Plain>, ...args: unknown[]) => Iterator<unknown>;

const asText = (value: unknown): unknown => (typeof value === "object" && value !== null ? textOf(value) : value);

/** Whether integers keep their digits and dates accept zones: rule 3 in ../rules.ts. */
const isExact = ({ context }: ThisParameterType<Plain>): boolean =>
  context instanceof TemplateContext && context.rules >= 3;

const MAX_INDENT = 8;

/** Millrace's own filters; text counts in code points, as in expressions. */
const OWN: Readonly<Record<string, Plain>> = {
  date(value, format, zone) {
    return formatDate(toValue(value), toValue(format), isExact(this) ? toValue(zone) : undefined);
  },
  join: (value, separator = " ") =>
    Array.isArray(value) ? value.map((item) => textOf(item)).join(textOf(separator)) : textOf(value),
  json: (value, indent) => JSON.stringify(toValue(value) ?? null, undefined, Math.min(Number(indent) || 0, MAX_INDENT)),
  // Output is never escaped, so `raw` has nothing to switch off; it exists so that templates with it still work.
  raw: (value) => value,
  size(value) {
    const plain: unknown = toValue(value);
    if (typeof plain === "string") return charsOf(plain).length;
    return typeof plain === "object" && plain !== null ? Object.keys(plain).length : 0;
  },
  slice(value, from, length = 1) {
    const plain: unknown = toValue(value) ?? "";
    const all: readonly unknown[] = Array.isArray(plain) ? plain : charsOf(textOf(plain));
    const begin = Number(from) < 0 ? all.length + Number(from) : Number(from);
    const part = begin < 0 ? [] : all.slice(begin, begin + Number(length));
    return Array.isArray(plain) ? part : part.join("");
  },
  split(value, separator) {
    const [text, between] = [textOf(value), textOf(separator)];
    const parts = between === "" ? charsOf(text) : text.split(between);
    while (parts.at(-1) === "") parts.pop();
    return parts;
  },
};

/** Replaces, removes and adds filters of an engine. */
export function addFilters(liquid: Liquid): void {
  for (const name of LEFT_OUT.split(" ")) delete liquid.filters[name];
  for (const name of TEXT_FILTERS) {
    const filter = liquid.filters[name] as Plain;
    liquid.registerFilter(name, function onText(value, ...args) {
      return filter.call(this, asText(value), ...args.map(asText));
    });
  }
  const sentence = liquid.filters["array_to_sentence_string"] as Plain;
  liquid.registerFilter("array_to_sentence_string", function onTexts(value, ...args) {
    return sentence.call(this, Array.isArray(value) ? (value as unknown[]).map(asText) : value, ...(args as unknown[]));
  });
  for (const [name, filter] of Object.entries(OWN)) liquid.registerFilter(name, filter);
  for (const [name, exact] of EXACT) {
    const filter = liquid.filters[name] as Plain;
    liquid.registerFilter(name, function onNumbers(value: unknown, ...args: unknown[]) {
      const plain = filter.call(this, value, ...args);
      return isExact(this) ? computeExactly(name, exact, [value, ...args], plain) : plain;
    });
  }
  const { sum, map } = liquid.filters as Record<string, Steps>;
  liquid.registerFilter("sum", function* onSum(list: unknown, ...args: unknown[]): Generator<
    unknown,
    unknown,
    unknown
  > {
    if (!isExact(this)) return yield sum?.call(this, list, ...args);
    const values = args.length === 0 ? toValue(list) : yield map?.call(this, list, ...args);
    return sumExactly(Array.isArray(values) ? values : [values]);
  });
  for (const name of ["jsonify", "inspect"]) liquid.registerFilter(name, OWN["json"] as Plain);
}
