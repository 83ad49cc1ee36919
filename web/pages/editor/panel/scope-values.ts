import { isObject } from "../../../flow/access.ts";

type Schema = Readonly<Record<string, unknown>>;

/** A value as the API describes it. */
export interface ScopeValue {
  readonly key: string;
  readonly kind: string;
  readonly node_path: string | null;
  readonly liquid: string;
  readonly cel: string;
  readonly schema: Schema;
}

export interface Scope {
  readonly values: readonly ScopeValue[];
  readonly nodes: ReadonlyArray<{ readonly node_path: string; readonly sees: readonly string[] }>;
}

/** A value that an expression can read, or a part of it. */
export interface ValueNode {
  /** Unique in the tree. */
  readonly key: string;
  readonly name: string;
  readonly liquid: string;
  readonly cel: string;
  readonly type: string;
  /** Undefined if there is none yet. */
  readonly last?: unknown;
  readonly hasLast: boolean;
  readonly schema: Schema;
}

const MAX_PARTS = 200;
const MAX_COMPLETIONS = 500;
const COMPLETED_DEPTH = 3;
const LAST_CHARS = 200;

/** The values that a node can read; `lastOf` finds the last value of a node by its path. */
export function valuesSeen(
  scope: Scope | null,
  nodePath: string,
  lastOf: (value: ScopeValue) => { readonly value: unknown } | undefined,
  nameOf: (value: ScopeValue) => string,
): readonly ValueNode[] {
  const seen = scope?.nodes.find(({ node_path }) => node_path === nodePath)?.sees ?? [];
  const byKey = new Map(scope?.values.map((value) => [value.key, value]));
  return seen.flatMap((key) => {
    const value = byKey.get(key);
    if (value === undefined) return [];
    const last = lastOf(value);
    const { liquid, cel } = value;
    const schema: Schema = value.schema;
    const hasLast = last !== undefined;
    return [
      {
        key,
        name: nameOf(value),
        liquid,
        cel,
        type: typeName(schema, last?.value, hasLast),
        last: last?.value,
        hasLast,
        schema,
      },
    ];
  });
}

/** The parts of a value: what its schema names, and what its last value has. */
export function partsOf(node: ValueNode): readonly ValueNode[] {
  const { last } = node;
  if (Array.isArray(last) || typesOf(node.schema).includes("array")) {
    const first = Array.isArray(last) && last.length > 0 ? { value: (last as unknown[])[0] } : undefined;
    const items = isObject(node.schema["items"]) ? node.schema["items"] : {};
    return [part(node, "[0]", "first item", items, first)];
  }
  const properties = propertiesOf(node.schema);
  const names = new Set([
    ...Object.keys(properties),
    ...(isObject(last) && !("$truncated" in last) ? Object.keys(last) : []),
  ]);
  return [...names].slice(0, MAX_PARTS).map((name) => {
    const schema = Object.hasOwn(properties, name) && isObject(properties[name]) ? properties[name] : {};
    const found = isObject(last) && Object.hasOwn(last, name) ? { value: last[name] } : undefined;
    return part(node, stepOf(name), name, schema, found);
  });
}

function part(
  parent: ValueNode,
  step: string,
  name: string,
  schema: Schema,
  last: { readonly value: unknown } | undefined,
): ValueNode {
  return {
    key: `${parent.key}${step}`,
    name,
    liquid: `${parent.liquid}${step}`,
    cel: `${parent.cel}${step}`,
    type: typeName(schema, last?.value, last !== undefined),
    last: last?.value,
    hasLast: last !== undefined,
    schema,
  };
}

/** How a field is read; a name that is not a word is written in brackets. */
const stepOf = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`);

function waysOf(schema: Schema): readonly Schema[] {
  const ways = schema["anyOf"] ?? schema["oneOf"];
  return Array.isArray(ways) ? ways.filter(isObject).flatMap(waysOf) : [schema];
}

function propertiesOf(schema: Schema): Schema {
  const all = waysOf(schema).map((way) => (isObject(way["properties"]) ? way["properties"] : {}));
  return Object.fromEntries(all.flatMap((each) => Object.entries(each)));
}

function typesOf(schema: Schema): readonly string[] {
  const found = waysOf(schema).flatMap((way) => {
    const { type } = way;
    if (typeof type === "string") return [type];
    if (Array.isArray(type)) return type.filter((each) => typeof each === "string");
    if ("const" in way) return [typeof way["const"]];
    if (Array.isArray(way["enum"])) return way["enum"].slice(0, 1).map((each) => typeof each);
    return isObject(way["properties"]) ? ["object"] : [];
  });
  return [...new Set(found)].filter((type) => type !== "null");
}

const NAMES: Readonly<Record<string, string>> = {
  string: "text",
  array: "list",
  integer: "number",
  boolean: "yes or no",
};
const named = (type: string): string => NAMES[type] ?? type;

function typeName(schema: Schema, last: unknown, hasLast: boolean): string {
  const types = typesOf(schema);
  if (types.length > 0) return [...new Set(types.map(named))].join(" or ");
  if (!hasLast) return "any";
  if (last === null) return "nothing";
  return named(Array.isArray(last) ? "array" : typeof last);
}

/** The beginning of a value as text. */
export function lastText({ hasLast, last }: Pick<ValueNode, "hasLast" | "last">): string | undefined {
  if (!hasLast) return undefined;
  if (typeof last === "string") return last.slice(0, LAST_CHARS);
  if (Array.isArray(last)) return `${last.length} ${last.length === 1 ? "item" : "items"}`;
  return (JSON.stringify(last) ?? "").slice(0, LAST_CHARS);
}

/** All values and their parts, for completion. */
export function completionsOf(values: readonly ValueNode[], language: "liquid" | "cel") {
  const found: Array<{ text: string; type: string; last: string | undefined }> = [];
  let level = values;
  for (let depth = 0; depth < COMPLETED_DEPTH && found.length < MAX_COMPLETIONS; depth++) {
    for (const node of level.slice(0, MAX_COMPLETIONS - found.length))
      found.push({ text: node[language], type: node.type, last: lastText(node) });
    level = level.flatMap(partsOf);
  }
  return found;
}
