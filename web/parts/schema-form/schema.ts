/** The part of JSON Schema 2020-12 that decides which control is shown; the API validates the rest. */
export interface FormSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maxLength?: number;
  readonly contentEncoding?: string;
  readonly contentMediaType?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: unknown;
  readonly oneOf?: readonly unknown[];
  readonly anyOf?: readonly unknown[];
  readonly allOf?: readonly unknown[];
  readonly $ref?: string;
  /** The language of the text, and of every text below it. */
  readonly "x-language"?: string;
  /** What the text is an ID of. */
  readonly "x-reference"?: string;
  readonly "x-advanced"?: boolean;
  /** A nested flow, which is edited on the canvas. */
  readonly "x-flow"?: boolean;
}

type Path = ReadonlyArray<string | number>;

/** Error messages by path in the data. */
export type FormErrors = ReadonlyMap<string, readonly string[]>;
export const pathKey = (path: Path): string => JSON.stringify(path);

const MAX_HOPS = 20;
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === "string";
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isNumber = (value: unknown): boolean => typeof value === "number";
const isBoolean = (value: unknown): boolean => typeof value === "boolean";

/** What each keyword must be to be used. A schema can come from anyone's document, so a keyword of another type is ignored. */
const KEYWORDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) => isText(value) || isTexts(value),
  title: isText,
  description: isText,
  default: () => true,
  examples: Array.isArray,
  enum: Array.isArray,
  const: () => true,
  format: isText,
  minimum: isNumber,
  maxLength: isNumber,
  contentEncoding: isText,
  contentMediaType: isText,
  properties: isObject,
  required: isTexts,
  additionalProperties: (value) => isObject(value) || isBoolean(value),
  items: (value) => isObject(value) || isBoolean(value),
  oneOf: Array.isArray,
  anyOf: Array.isArray,
  allOf: Array.isArray,
  $ref: isText,
  "x-language": isText,
  "x-reference": isText,
  "x-advanced": isBoolean,
  "x-flow": isBoolean,
};

/** A schema with its known keywords only, its reference followed and its `allOf` merged. `root`: the whole schema, for references. */
export function readSchema(given: unknown, root: unknown, hops = 0): FormSchema {
  if (!isObject(given) || hops > MAX_HOPS) return {};
  const own = Object.fromEntries(
    Object.entries(given).filter(([keyword, value]) => Object.hasOwn(KEYWORDS, keyword) && KEYWORDS[keyword]?.(value)),
  ) as FormSchema;
  const { $ref, allOf, ...rest } = own;
  // The parts share the budget, so that parts that refer to each other end.
  const parts = (allOf ?? []).slice(0, MAX_HOPS).map((part) => readSchema(part, root, hops + 5));
  const target = $ref === undefined ? [] : [readSchema(follow($ref, root), root, hops + 1)];
  return [...target, ...parts, rest].reduce(merged, {});
}

function merged(one: FormSchema, other: FormSchema): FormSchema {
  return {
    ...one,
    ...other,
    ...(one.properties && other.properties && { properties: { ...one.properties, ...other.properties } }),
    ...(one.required && other.required && { required: [...new Set([...one.required, ...other.required])] }),
  };
}

/** The value that a JSON pointer into the same document names. */
function follow(ref: string, root: unknown): unknown {
  if (!ref.startsWith("#")) return undefined;
  let at = root;
  for (const step of pointer(ref)) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[step];
  }
  return at;
}

function pointer(ref: string): string[] {
  try {
    const steps = decodeURIComponent(ref.slice(1)).split("/").slice(1);
    return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  } catch {
    return [""];
  }
}

/** The types of a schema without `null`; what its other keywords imply if it names none. */
export function typesOf(schema: FormSchema): readonly string[] {
  const { type } = schema;
  if (type !== undefined)
    return (typeof type === "string" ? [type] : [...new Set(type)]).filter((each) => each !== "null");
  if (schema.properties !== undefined || isObject(schema.additionalProperties)) return ["object"];
  return isObject(schema.items) ? ["array"] : [];
}

export const allowsNull = ({ type }: FormSchema): boolean =>
  type === "null" || (Array.isArray(type) && type.includes("null"));

export type Control =
  | "code"
  | "reference"
  | "choice"
  | "constant"
  | "union"
  | "members"
  | "record"
  | "checks"
  | "list"
  | "text"
  | "number"
  | "check"
  | "json"
  | "none";

/** Most values that are shown as a list of boxes. */
const MAX_CHECKS = 12;

/** The control for a schema that `readSchema` has read. */
export function controlOf(schema: FormSchema, root: unknown): Control {
  if (schema["x-flow"] === true) return "none";
  if (schema.enum !== undefined) return "choice";
  const types = typesOf(schema);
  if (schema.const !== undefined && types[0] !== "boolean") return "constant";
  if (schema.oneOf !== undefined || schema.anyOf !== undefined || types.length > 1) return "union";
  switch (types[0]) {
    case "string":
      if (schema["x-reference"] !== undefined) return "reference";
      return schema["x-language"] === undefined ? "text" : "code";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "check";
    case "object":
      if (Object.keys(schema.properties ?? {}).length > 0 || schema.additionalProperties === false) return "members";
      return "record";
    case "array": {
      if (!isObject(schema.items)) return "json";
      const { enum: choices } = readSchema(schema.items, root);
      return choices !== undefined && choices.length <= MAX_CHECKS && choices.every(isText) ? "checks" : "list";
    }
    default:
      return allowsNull(schema) ? "constant" : "json";
  }
}

/** Whether a string holds a file as base64, which JSON has no other type for. */
export const isFile = ({ contentEncoding, format }: FormSchema): boolean =>
  contentEncoding === "base64" || format === "byte";

export const isMarkdown = ({ format, contentMediaType }: FormSchema): boolean =>
  format === "markdown" || contentMediaType === "text/markdown";

/** Members of an object with required ones first, in the order of `required`, because storing a schema loses the order of its properties. */
export function membersOf({ properties = {}, required = [] }: FormSchema): ReadonlyArray<readonly [string, unknown]> {
  const rank = new Map(required.map((name, at) => [name, at]));
  const rankOf = (name: string): number => rank.get(name) ?? required.length;
  return Object.entries(properties).toSorted(([one], [other]) => rankOf(one) - rankOf(other));
}
