import { canonicalJson } from "../definition/content-hash.ts";
import { targetOf } from "./form-cost.ts";
import { compileRegex } from "../expressions/regex.ts";

/** Steps (of at most a microsecond) that checking an answer may take. */
const MAX_STEPS = 100_000;

/** Keywords by what their schemas are applied to: the value itself, each of its items, each of its members. */
const IN_PLACE = ["not", "if", "then", "else", "allOf", "anyOf", "oneOf"];
const IN_PLACE_BY_NAME = ["dependentSchemas", "dependencies"];
const EACH_ITEM = ["items", "contains", "unevaluatedItems"];
const EACH_MEMBER = ["additionalProperties", "unevaluatedProperties"];

type Members = Readonly<Record<string, unknown>>;

/**
 * Whether data can be checked with a form, one without fault, in MAX_STEPS. It goes the checker's way in advance and
 * counts what may be done there: no bound on the form alone, or on the data alone, leaves room for long tables and for
 * long forms but not for a thousand rules on each of ten thousand values.
 */
export function isQuickToCheck(form: object, data: unknown): boolean {
  const own = new WeakMap<object, number>();
  let left = MAX_STEPS;

  function each(schema: unknown, values: readonly unknown[]): void {
    for (const value of values) apply(schema, value);
  }

  function apply(schema: unknown, value: unknown): void {
    left -= 1;
    if (left < 0 || !isMembers(schema)) return;
    let steps = own.get(schema);
    if (steps === undefined) own.set(schema, (steps = stepsOf(schema)));
    left -= steps + breadthOf(value);
    if (typeof value === "string") left -= matchSteps(schema["pattern"], value);
    for (const [keyword, member] of Object.entries(schema)) {
      if (left < 0) return;
      if (keyword === "$ref" && typeof member === "string") {
        // What has been found so far is copied at each reference.
        left -= (MAX_STEPS - left) / 1000;
        apply(targetOf(form, member), value);
      } else if (IN_PLACE.includes(keyword)) for (const one of listOf(member)) apply(one, value);
      else if (IN_PLACE_BY_NAME.includes(keyword))
        for (const one of Object.values(member as Members)) apply(one, value);
      else if (Array.isArray(value)) applyToItems(keyword, member, value);
      else if (isMembers(value)) applyToMembers(keyword, member, value);
    }
  }

  function applyToItems(keyword: string, member: unknown, items: readonly unknown[]): void {
    if (EACH_ITEM.includes(keyword)) each(member, items);
    else if (keyword === "prefixItems") for (const [index, one] of listOf(member).entries()) apply(one, items[index]);
    else if (keyword === "uniqueItems" && member === true) left -= JSON.stringify(items).length / 10;
  }

  function applyToMembers(keyword: string, member: unknown, members: Members): void {
    if (EACH_MEMBER.includes(keyword)) each(member, Object.values(members));
    else if (keyword === "propertyNames") each(member, Object.keys(members));
    else if (keyword === "properties") {
      for (const [name, one] of Object.entries(member as Members)) {
        if (Object.hasOwn(members, name)) apply(one, members[name]);
      }
    } else if (keyword === "patternProperties") {
      for (const [pattern, one] of Object.entries(member as Members)) {
        for (const [name, each] of Object.entries(members)) {
          left -= matchSteps(pattern, name);
          apply(one, each);
        }
      }
    }
  }

  apply(form, data);
  return left >= 0;
}

/** Whether no two items are equal, in time linear in their text. */
export function areUnique(items: readonly unknown[]): boolean {
  return new Set(items.map(canonicalJson)).size === items.length;
}

/** Values in a schema beside its subschemas, e.g. those of `enum` and `required`. */
function stepsOf(schema: Members): number {
  const applied = [...IN_PLACE, ...IN_PLACE_BY_NAME, ...EACH_ITEM, ...EACH_MEMBER, "$defs", "prefixItems"];
  applied.push("properties", "patternProperties", "propertyNames");
  return Object.entries(schema).reduce((sum, [key, member]) => sum + (applied.includes(key) ? 1 : valuesIn(member)), 0);
}

function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, member) => sum + valuesIn(member), 1);
}

/** What keywords such as minLength and minProperties do with a value. */
function breadthOf(value: unknown): number {
  if (typeof value === "string") return value.length / 100;
  return typeof value === "object" && value !== null ? Object.keys(value).length / 8 : 0;
}

function matchSteps(pattern: unknown, text: string): number {
  const compiled = typeof pattern === "string" ? compileRegex(pattern) : undefined;
  return compiled?.ok ? (compiled.regex.instructions * text.length) / 300 : 0;
}

function listOf(member: unknown): readonly unknown[] {
  return Array.isArray(member) ? member : [member];
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
