import { failed, describe, isList, isMap, keysOf, member, type Value } from "./values.ts";
import type { Meter } from "../meter.ts";
import { isInteger, toNumber } from "../natives.ts";

const MAX_NAME_CHARS = 80;

const quoted = (key: Value): string => {
  if (typeof key === "object" && key !== null) return `(${describe(key)})`;
  const short = typeof key === "string" ? key.slice(0, MAX_NAME_CHARS) : key;
  return JSON.stringify(typeof short === "bigint" ? toNumber(short) : short).slice(0, MAX_NAME_CHARS);
};

const memberNames = (names: readonly Value[]): string => {
  if (names.length === 0) return "it is empty";
  const more = names.length > 6 ? ", ..." : "";
  return `it has ${names.slice(0, 6).map(quoted).join(", ")}${more}`;
};

const position = (key: Value): number | undefined => {
  const index = typeof key === "bigint" || typeof key === "number" ? toNumber(key) : Number.NaN;
  return isInteger(index) ? index : undefined;
};

/** A member or an element, or undefined where there is none. Never one that is inherited. */
export const findMember = (value: Value, key: Value): Value | undefined => {
  if (isList(value)) {
    const index = position(key);
    return index === undefined ? undefined : value[index];
  }
  return isMap(value) ? member(value, key) : undefined;
};

/** Says why `findMember` found nothing. `isNodes`: the value is the map of the nodes' values. Throws always. */
export const missing = (value: Value, key: Value, isNodes: boolean, meter: Meter): never => {
  if (isNodes) {
    const test = `has(nodes[${quoted(key)}])`;
    throw failed(
      `Node ${quoted(key)} has no value here: it was skipped or does not run before this node. ${test} tests it`,
    );
  }
  if (isMap(value)) {
    throw failed(`There is no member ${quoted(key)}: ${memberNames(keysOf(value, meter))}. has(...) tests for one`);
  }
  if (isList(value)) {
    if (position(key) === undefined) throw failed(`A list is indexed with whole numbers, not with ${describe(key)}`);
    throw failed(`Index ${position(key)} is out of range: the list has ${value.length} elements, counted from 0`);
  }
  const hint = typeof value === "string" ? ": json(...) reads JSON text, text.charAt(n) gives a character" : "";
  throw failed(`${describe(value)} has no member ${quoted(key)}${hint}`.replace(/^./, (first) => first.toUpperCase()));
};
