import { failed, describe, isList, isMap, keysOf, member, type Value } from "./values.ts";
import type { Meter } from "./limits.ts";
import { isInteger, toNumber, toStringOf } from "../natives.ts";

const MAX_NAME_CHARS = 80;

const quoted = (key: Value): string => {
  if (typeof key === "object" && key !== null) return `(${describe(key)})`;
  const short = typeof key === "string" ? key.slice(0, MAX_NAME_CHARS) : key;
  return (typeof short === "bigint" ? toStringOf(short) : JSON.stringify(short)).slice(0, MAX_NAME_CHARS);
};

const memberNames = (names: readonly Value[]): string => {
  if (names.length === 0) return "the object is empty";
  const more = names.length > 6 ? ", ..." : "";
  return `the object has ${names.slice(0, 6).map(quoted).join(", ")}${more}`;
};

const position = (key: Value): number | undefined => {
  const index = typeof key === "bigint" || typeof key === "number" ? toNumber(key) : Number.NaN;
  return isInteger(index) ? index : undefined;
};

/** A field or element, or undefined if there is none. Inherited properties are never found. */
export const findMember = (value: Value, key: Value): Value | undefined => {
  if (isList(value)) {
    const index = position(key);
    return index === undefined ? undefined : value[index];
  }
  return isMap(value) ? member(value, key) : undefined;
};

/** Throws the reason why `findMember` found nothing. `isNodes`: the value is the map of node values. */
export const missing = (value: Value, key: Value, isNodes: boolean, meter: Meter): never => {
  if (isNodes) {
    const test = `has(nodes[${quoted(key)}])`;
    throw failed(
      `Node ${quoted(key)} has no value here: it was skipped or does not run before this node. Use ${test} to test for it`,
    );
  }
  if (isMap(value)) {
    throw failed(`Field ${quoted(key)} not found: ${memberNames(keysOf(value, meter))}. Use has(...) to test for it`);
  }
  if (isList(value)) {
    if (position(key) === undefined) throw failed(`A list index must be a whole number, not ${describe(key)}`);
    throw failed(`Index ${position(key)} is out of range: the list has ${value.length} elements, counted from 0`);
  }
  const hint = typeof value === "string" ? ": use json(...) to read JSON text, text.charAt(n) to get a character" : "";
  throw failed(`${describe(value)} has no field ${quoted(key)}${hint}`.replace(/^./, (first) => first.toUpperCase()));
};
