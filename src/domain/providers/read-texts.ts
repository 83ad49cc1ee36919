import { isLongNumber, jsonOrText } from "../exact-json.ts";
import { isObject, listOf, type Json, type JsonObject } from "../json.ts";

/** Deepest nesting of alternatives that is examined. */
const MAX_DEPTH = 20;
/** Most schemas examined for a value, plus some for each value in it, because a schema may lead to itself in many ways. */
const STEPS = 20_000;
const STEPS_EACH = 100;

/** Reads strings in a value as JSON wherever the schema does not allow a string, because templates return only strings. */
export function readTexts(root: JsonObject, value: Json): Json {
  return mapTexts(root, root, value, jsonOrText);
}

/**
 * A value in which integers beyond 2^53, which are strings, become nearby numbers where the schema requires a number, so that bounds can be
 * checked.
 */
export function withRoundedIntegers(root: JsonObject, value: Json): Json {
  return mapTexts(root, root, value, (text) => (isLongInteger(text) ? Number(text) : text));
}

/** The JSON text of a value in which integers beyond 2^53, which are strings, become exact numbers where the schema requires a number. */
export function jsonTextOf(root: JsonObject, schema: Json | undefined, value: Json): string {
  const numbers: string[] = [];
  const marked = mapTexts(root, schema, value, (text) => {
    if (!isLongInteger(text)) return text;
    numbers.push(text);
    // No value contains U+0000 (see domain/storable.ts), so it can mark the numbers.
    return `\0${numbers.length - 1}`;
  });
  const json = JSON.stringify(marked);
  return numbers.length === 0 ? json : json.replaceAll(/"\\u0000(\d+)"/g, (_, at: string) => numbers[Number(at)] ?? "");
}

const isLongInteger = (text: string): boolean => /^-?\d+(?:\.0+)?$/.test(text) && isLongNumber(text);

/** The value, with `replace` applied to every string for which its schema does not allow a string. */
function mapTexts(root: JsonObject, schema: Json | undefined, value: Json, replace: (text: string) => Json): Json {
  const defs = isObject(root["$defs"]) ? root["$defs"] : {};
  let steps = STEPS;

  /** A schema together with everything that applies with it: the target of its `$ref`, and its `allOf`. */
  function parts(part: Json | undefined, seen = new Set<JsonObject>()): JsonObject[] {
    if (!isObject(part) || seen.has(part) || --steps < 0) return [];
    seen.add(part);
    const { $ref, allOf } = part;
    const name = typeof $ref === "string" ? $ref.replace(/^#\/\$defs\//, "") : "";
    const target = Object.hasOwn(defs, name) ? parts(defs[name], seen) : [];
    return [part, ...target, ...listOf(allOf).flatMap((each) => parts(each, seen))];
  }

  function takesText(given: Json | undefined, text: string, depth = 0): boolean {
    if (depth > MAX_DEPTH) return true;
    return parts(given).every(({ type, enum: choices, const: only, anyOf, oneOf }) => {
      if (Array.isArray(choices) && !choices.includes(text)) return false;
      if (only !== undefined && only !== text) return false;
      if (type !== undefined && !isOfType(type, "string")) return false;
      return [anyOf, oneOf].every(
        (each) => !Array.isArray(each) || each.some((one: Json) => takesText(one, text, depth + 1)),
      );
    });
  }

  /** Whether a list or object can match an alternative, judged by type, required fields, and choices for its string fields. */
  function fits(alternative: Json, given: Json, depth = 0): boolean {
    if (alternative === false || depth > MAX_DEPTH) return false;
    return parts(alternative).every(({ type, required, properties, anyOf, oneOf }) => {
      if (type !== undefined && !isOfType(type, Array.isArray(given) ? "array" : "object")) return false;
      for (const each of [anyOf, oneOf])
        if (Array.isArray(each) && !each.some((one: Json) => fits(one, given, depth + 1))) return false;
      if (!isObject(given)) return true;
      if (listOf(required).some((name) => typeof name === "string" && !Object.hasOwn(given, name))) return false;
      return Object.entries(isObject(properties) ? properties : {}).every(([name, member]) => {
        const text = Object.hasOwn(given, name) ? given[name] : undefined;
        return typeof text !== "string" || !isObject(member) || isChoice(member, text);
      });
    });
  }

  /** All schemas that apply to a field or item. */
  function inner(outer: Json | undefined, given: Json, step: string | number, depth = 0): Json[] {
    if (depth > MAX_DEPTH) return [];
    return parts(outer).flatMap((part) => {
      const own = typeof step === "number" ? itemOf(part, step) : memberOf(part, step);
      const several = [part["anyOf"], part["oneOf"]].map((each) => {
        const fitting = listOf(each).filter((one) => fits(one, given));
        return (fitting.length > 0 ? fitting : listOf(each)).map((one) => ({
          allOf: inner(one, given, step, depth + 1),
        }));
      });
      return [
        ...(own === undefined ? [] : [own]),
        ...several.filter(({ length }) => length > 0).map((members) => ({ anyOf: members })),
      ];
    });
  }

  function read(outer: Json | undefined, given: Json): Json {
    steps += STEPS_EACH;
    if (typeof given === "string") return takesText(outer, given) ? given : replace(given);
    if (typeof given !== "object" || given === null) return given;
    const within = (step: string | number, each: Json): Json => read({ allOf: inner(outer, given, step) }, each);
    if (Array.isArray(given)) return given.map((each: Json, at) => within(at, each));
    return Object.fromEntries(Object.entries(given).map(([name, each]) => [name, within(name, each)]));
  }

  return read(schema, value);
}

const isOfType = (type: Json, wanted: string): boolean => type === wanted || listOf(type).includes(wanted);

/** Whether a field's schema allows this string, if it has a choice of strings, as fields that distinguish alternatives have. */
function isChoice({ const: only, enum: choices }: JsonObject, text: string): boolean {
  if (typeof only === "string") return only === text;
  return !Array.isArray(choices) || choices.includes(text) || choices.some((each) => typeof each !== "string");
}

function memberOf({ properties, additionalProperties }: JsonObject, name: string): Json | undefined {
  return isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
}

function itemOf({ prefixItems, items }: JsonObject, at: number): Json | undefined {
  return listOf(prefixItems)[at] ?? items;
}
