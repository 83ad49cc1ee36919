import { allowsNull, readSchema, typesOf, type FormSchema } from "./schema.ts";

/** One of the alternatives of a union. */
export interface Variant {
  readonly label: string;
  readonly schema: FormSchema;
}

const MAX_VARIANTS = 50;
const MAX_DEPTH = 4;
const NAMES: Readonly<Record<string, string>> = {
  string: "Text",
  number: "Number",
  integer: "Whole number",
  boolean: "Yes or no",
  array: "List",
  object: "Object",
  null: "Nothing",
};

/** The alternatives of a union, nested ones included, each with a different label. */
export function variantsOf(schema: FormSchema, root: unknown): readonly Variant[] {
  const seen = new Map<string, number>();
  return flattened(schema, root, 0, { left: MAX_VARIANTS }).map((each) => {
    const label = labelOf(each, root);
    const times = (seen.get(label) ?? 0) + 1;
    seen.set(label, times);
    return { label: times === 1 ? label : `${label} ${times}`, schema: each };
  });
}

/** `budget`: shared by all levels, because alternatives that refer to each other would be without end. */
function flattened(schema: FormSchema, root: unknown, depth: number, budget: { left: number }): FormSchema[] {
  const {
    oneOf,
    anyOf,
    title: _title,
    description: _description,
    default: _default,
    examples: _examples,
    ...rest
  } = schema;
  const ways = oneOf ?? anyOf;
  if (ways !== undefined && depth < MAX_DEPTH)
    return ways.slice(0, MAX_VARIANTS).flatMap((way) => {
      budget.left -= 1;
      if (budget.left < 0) return [];
      const read = readSchema(way, root);
      const { required = [], properties = {} } = rest;
      const own = {
        ...rest,
        ...read,
        ...(rest.properties && { properties: { ...properties, ...read.properties } }),
        ...(rest.required && { required: [...new Set([...required, ...(read.required ?? [])])] }),
      };
      return flattened(own, root, depth + 1, budget);
    });
  const types = typesOf(schema);
  const each = types.length > 1 ? types.map((type) => ({ ...schema, type })) : [schema];
  // Null beside other types is an alternative of its own.
  const isNull = types.length > 0 && allowsNull(schema);
  return isNull ? [...each.map((one) => ({ ...one, type: typesOf(one) })), { type: "null" }] : each;
}

/** The value of a constant field that tells the alternatives apart, such as `type`. */
function markOf({ properties = {} }: FormSchema, root: unknown): string | undefined {
  for (const member of Object.values(properties)) {
    const { const: mark } = readSchema(member, root);
    if (typeof mark === "string") return mark;
  }
  return undefined;
}

function labelOf(schema: FormSchema, root: unknown): string {
  if (schema.title !== undefined && schema.title !== "") return schema.title;
  const mark = markOf(schema, root);
  if (mark !== undefined) return mark;
  if (schema.const !== undefined) return JSON.stringify(schema.const).slice(0, 40);
  if (schema.enum !== undefined) return "Choice";
  const [type] = typesOf(schema);
  const named = type === undefined && allowsNull(schema) ? "null" : type;
  const required = schema.required ?? [];
  if (named === "object" && required.length > 0) return `Object with ${required.slice(0, 3).join(", ")}`;
  return NAMES[named ?? ""] ?? "Any value";
}

/** The index of the alternative that fits a value best; -1 if none does. */
export function matchingVariant(variants: readonly Variant[], value: unknown, root: unknown): number {
  if (value === undefined) return -1;
  let best = -1;
  let most = Number.NEGATIVE_INFINITY;
  for (const [index, { schema }] of variants.entries()) {
    const score = fit(schema, value, root, 0);
    if (score > most) [best, most] = [index, score];
  }
  return best;
}

const NEVER = Number.NEGATIVE_INFINITY;

/** How well a value fits a schema: -Infinity if it cannot be meant. */
export function fit(schema: FormSchema, value: unknown, root: unknown, depth = 0): number {
  if (depth > MAX_DEPTH) return 0;
  if (schema.const !== undefined) return same(schema.const, value) ? 10 : NEVER;
  if (schema.enum !== undefined) return schema.enum.some((each) => same(each, value)) ? 5 : NEVER;
  const ways = schema.oneOf ?? schema.anyOf;
  if (ways !== undefined)
    return Math.max(
      NEVER,
      ...ways.slice(0, MAX_VARIANTS).map((way) => fit(readSchema(way, root), value, root, depth + 1)),
    );
  if (value === null) return allowsNull(schema) ? 5 : schema.type === undefined ? 0 : NEVER;
  const types = typesOf(schema);
  if (types.length === 0) return schema.type === undefined ? 0 : NEVER;
  const type = typeNamed(value);
  if (!types.includes(type) && !(type === "integer" && types.includes("number"))) return NEVER;
  if (Array.isArray(value)) {
    const items = readSchema(schema.items, root);
    return value.slice(0, 5).reduce((sum: number, item) => sum + Math.min(0, fit(items, item, root, depth + 1)), 1);
  }
  return type === "object" ? fitOfObject(schema, value as Readonly<Record<string, unknown>>, root, depth) : 1;
}

function fitOfObject(
  { properties = {}, required = [], additionalProperties: others }: FormSchema,
  value: Readonly<Record<string, unknown>>,
  root: unknown,
  depth: number,
): number {
  let score = 1;
  for (const [name, member] of Object.entries(properties)) {
    const isThere = Object.hasOwn(value, name);
    if (!isThere) score -= required.includes(name) ? 1 : 0;
    else if (readSchema(member, root).const !== undefined)
      score += fit(readSchema(member, root), value[name], root, depth + 1);
    else score += 1;
  }
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(properties, name)).length;
  return score - (others === false ? 3 * unknown : 0);
}

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

function typeNamed(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}
