import { NodeFailure } from "../../../runs/failure.ts";
import { attempt, type Code, type Frame } from "./frame.ts";
import { describe, failed, isList, isMap, keysOf, type Value } from "./values.ts";

/** The compiled parts of a macro call such as `list.map(x, condition, result)`. */
export interface MacroParts {
  readonly range: Code;
  /** Where the iteration variable lives in the frame. */
  readonly slot: number;
  /** The body after the variable; `map` with a condition has a second part. */
  readonly first: Code;
  readonly second: Code | undefined;
  /** Ticks per element: the number of nodes in the body. */
  readonly ticks: number;
  readonly at: number;
}

const itemsOf = (parts: MacroParts, frame: Frame): readonly Value[] => {
  const range = parts.range(frame);
  frame.at = parts.at;
  if (isList(range)) return range;
  if (!isMap(range)) throw failed(`Only lists and maps can be iterated, not ${describe(range)}`);
  return keysOf(range, frame.meter);
};

const asBool = (name: string, value: Value, frame: Frame, at: number): boolean => {
  if (typeof value === "boolean") return value;
  frame.at = at;
  throw failed(`The condition of ${name}() must be true or false, but it is ${describe(value)}`);
};

const walk = (parts: MacroParts, frame: Frame, round: (item: Value) => boolean): void => {
  for (const item of itemsOf(parts, frame)) {
    frame.meter.use(parts.ticks);
    frame.locals[parts.slot] = item;
    if (!round(item)) return;
  }
};

/** `all` and `exists`: a failure for one element matters only if no other element decides the result. */
const quantifier =
  (name: string, deciding: boolean) =>
  (parts: MacroParts): Code =>
  (frame) => {
    let failure: NodeFailure | undefined;
    let decided = false;
    walk(parts, frame, () => {
      const result = attempt((inner) => asBool(name, parts.first(inner), inner, parts.at), frame);
      if (result instanceof NodeFailure) failure ??= result;
      decided = result === deciding;
      return !decided;
    });
    if (!decided && failure !== undefined) throw failure;
    return decided ? deciding : !deciding;
  };

const existsOne =
  (parts: MacroParts): Code =>
  (frame) => {
    let found = 0;
    walk(parts, frame, () => {
      if (asBool("exists_one", parts.first(frame), frame, parts.at)) found++;
      return true;
    });
    return found === 1;
  };

const filter =
  (parts: MacroParts): Code =>
  (frame) => {
    const kept: Value[] = [];
    walk(parts, frame, (item) => {
      if (asBool("filter", parts.first(frame), frame, parts.at)) kept.push(item);
      return true;
    });
    return kept;
  };

const map = (parts: MacroParts): Code => {
  const { first, second, at } = parts;
  const condition = second === undefined ? undefined : first;
  const transform = second ?? first;
  return (frame) => {
    const made: Value[] = [];
    walk(parts, frame, () => {
      if (condition === undefined || asBool("map", condition(frame), frame, at)) made.push(transform(frame));
      return true;
    });
    return made;
  };
};

/** The macros that iterate over a list or the keys of a map, and how many arguments each takes. */
export const MACROS: ReadonlyMap<
  string,
  { readonly args: readonly number[]; readonly make: (parts: MacroParts) => Code }
> = new Map([
  ["all", { args: [2], make: quantifier("all", false) }],
  ["exists", { args: [2], make: quantifier("exists", true) }],
  ["exists_one", { args: [2], make: existsOne }],
  ["existsOne", { args: [2], make: existsOne }],
  ["filter", { args: [2], make: filter }],
  ["map", { args: [2, 3], make: map }],
]);
