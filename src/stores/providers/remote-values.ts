import { types } from "pg";
import { parseExactJson } from "../../domain/exact-json.ts";
import { isFlat } from "../../domain/flat-json.ts";
import type { Json } from "../../domain/json.ts";
import { unstorableText } from "../../domain/storable.ts";

/** The type of an array's elements, by the array's type. */
const ELEMENTS: Readonly<Record<number, number>> = {
  199: 114,
  1000: 16,
  1005: 21,
  1007: 23,
  1016: 20,
  1021: 700,
  1022: 701,
  1185: 1184,
  3807: 3802,
};
/** Arrays whose elements become strings: text, varchar, char, uuid, numeric, date, timestamp. */
const TEXT_ARRAYS: ReadonlySet<number> = new Set([1009, 1015, 1014, 2951, 1231, 1182, 1115]);
const parseTextArray = types.getTypeParser(1009 as never) as (text: string) => unknown;

/** Converts a remote database's value to JSON by its type ID: numbers if they are exact, otherwise the value's text. */
export function valueOf(type: number, text: string): Json {
  switch (type) {
    case 16:
      return text === "t";
    case 17:
      return Buffer.from(text.replace(/^\\x/, ""), "hex").toString("base64");
    case 20:
    case 21:
    case 23:
    case 26:
      return Number.isSafeInteger(Number(text)) ? Number(text) : text;
    case 700:
    case 701:
      return Number.isFinite(Number(text)) ? Number(text) : text;
    case 114:
    case 3802:
      return jsonOf(text);
    case 1184:
      return timeOf(text);
    default:
      return arrayOf(type, text) ?? text;
  }
}

function arrayOf(type: number, text: string): Json | null {
  const element = ELEMENTS[type];
  if (element === undefined && !TEXT_ARRAYS.has(type)) return null;
  const items = parseTextArray(text) as Json;
  return element === undefined ? items : convert(items, element);
}

function convert(item: Json, type: number): Json {
  if (Array.isArray(item)) return item.map((each: Json) => convert(each, type));
  return typeof item === "string" ? valueOf(type, item) : item;
}

function jsonOf(text: string): Json {
  const value = parseExactJson(text);
  return isFlat(value) && unstorableText(value) === undefined ? value : text;
}

/** "infinity" and years outside the range of Date stay unchanged. */
function timeOf(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text : time.toISOString();
}

/** A parameter in the form that Postgres reads. */
export function parameterOf(value: Json): string | null {
  if (value === null) return null;
  if (Array.isArray(value)) return arrayText(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function arrayText(items: readonly Json[]): string {
  const texts = items.map((item) => {
    if (item === null) return "NULL";
    if (Array.isArray(item)) return arrayText(item);
    return `"${(parameterOf(item) ?? "").replaceAll(/["\\]/g, "\\$&")}"`;
  });
  return `{${texts.join(",")}}`;
}
