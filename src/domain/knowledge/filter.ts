import { distinct } from "../distinct.ts";
import type { ValidationIssue } from "../errors.ts";
import {
  BUILTIN_FIELDS,
  mediaType,
  readMetadataValue,
  type MetadataSchema,
  type MetadataType,
  type MetadataValue,
} from "./metadata.ts";
import { isObject, ownMember } from "../json.ts";

export const FILTER_OPERATORS = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "exists"] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];

const ORDERED = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists"] as const;
/** The operators for fields of each type. `contains` matches a part of a string, or an element of a list. */
const OPERATORS_OF: Readonly<Record<MetadataType, readonly FilterOperator[]>> = {
  string: [...ORDERED, "contains"],
  number: ORDERED,
  date: ORDERED,
  boolean: ["eq", "ne", "exists"],
  string_list: ["in", "nin", "contains", "exists"],
};

/** A value that a field is compared with. */
type Operand = MetadataValue | readonly number[];
type Place = ValidationIssue["loc"];

const MAX_DEPTH = 10;
const MAX_CONDITIONS = 200;
const MAX_VALUES = 1000;

/** Where a field's values are stored. */
export type FilterSource = "user" | "dataloader" | "builtin";

/** One comparison, with a known field and a value of the field's type. `ne` and `nin` also match documents without a value. */
export interface FilterCondition {
  readonly kind: "condition";
  readonly source: FilterSource;
  readonly field: string;
  readonly type: MetadataType;
  readonly op: FilterOperator;
  readonly value: Operand;
}

/** A filter whose fields all exist and have the type of their comparison. */
export type ResolvedFilter =
  | { readonly kind: "and" | "or"; readonly all: readonly ResolvedFilter[] }
  | { readonly kind: "not"; readonly inner: ResolvedFilter }
  | FilterCondition;

/** The schemas whose fields a filter may name; for a name in both, the first applies. */
export interface FilterSchemas {
  readonly user: MetadataSchema;
  readonly dataloader: MetadataSchema;
}

/**
 * Reads a filter tree: `{and: [...]}`, `{or: [...]}`, `{not: [...]}` (none of them), `{field, op, value}`. It may name fields of the two
 * metadata schemas and built-in fields. `filter` is null if there are issues.
 */
export function resolveFilter(
  tree: unknown,
  schemas: FilterSchemas,
  loc: Place,
): { readonly filter: ResolvedFilter | null; readonly issues: readonly ValidationIssue[] } {
  const issues: ValidationIssue[] = [];
  let conditions = 0;
  const refuse = (place: Place, msg: string, type = "value_error"): null => {
    issues.push({ loc: place, msg, type });
    return null;
  };

  const readNode = (node: unknown, place: Place, depth: number): ResolvedFilter | null => {
    if (depth > MAX_DEPTH) return refuse(place, `a filter can be at most ${MAX_DEPTH} levels deep`);
    if (!isObject(node)) {
      return refuse(place, "must be an object with and, or, not, or with field, op and value");
    }
    const members = Object.entries(node);
    const [first] = members;
    const kind = first?.[0];
    if (first !== undefined && members.length === 1 && (kind === "and" || kind === "or" || kind === "not")) {
      return readGroup(kind, first[1], [...place, kind], depth);
    }
    return readCondition(node, place);
  };

  const readGroup = (
    kind: "and" | "or" | "not",
    inner: unknown,
    place: Place,
    depth: number,
  ): ResolvedFilter | null => {
    const list: readonly unknown[] = Array.isArray(inner) ? inner : kind === "not" ? [inner] : [];
    if (list.length === 0) return refuse(place, "must be a list with at least one filter");
    if (list.length > MAX_CONDITIONS) return refuse(place, `a filter can have at most ${MAX_CONDITIONS} conditions`);
    const all = list.map((each, index) => readNode(each, [...place, index], depth + 1));
    const resolved = all.filter((each) => each !== null);
    if (resolved.length < all.length) return null;
    return kind === "not" ? { kind, inner: { kind: "or", all: resolved } } : { kind, all: resolved };
  };

  const readCondition = (node: Record<string, unknown>, place: Place): ResolvedFilter | null => {
    conditions += 1;
    if (conditions > MAX_CONDITIONS) return refuse(place, `a filter can have at most ${MAX_CONDITIONS} conditions`);
    const unknown = Object.keys(node).find((name) => !["field", "op", "value"].includes(name));
    if (unknown !== undefined)
      return refuse([...place, unknown], "unknown field: only field, op and value are allowed here");
    const { field, op } = node;
    if (typeof field !== "string") return refuse([...place, "field"], "must be the name of a field");
    const found = findField(field, schemas);
    if (found === null) {
      const message = `unknown field ${JSON.stringify(field)}; the fields are ${knownFields(schemas)}`;
      return refuse([...place, "field"], message, "unknown_field");
    }
    const operator = FILTER_OPERATORS.find((each) => each === op);
    const allowed = OPERATORS_OF[found.type];
    if (operator === undefined || !allowed.includes(operator)) {
      return refuse([...place, "op"], `a field of type ${found.type} allows only ${allowed.join(", ")}`);
    }
    const value = readOperand(found.type, operator, node["value"]);
    if ("expected" in value) return refuse([...place, "value"], `must be ${value.expected}`, "wrong_type");
    return { kind: "condition", field, ...found, op: operator, value: comparable(found.source, field, value.value) };
  };

  const filter = readNode(tree, loc, 1);
  return { filter: issues.length === 0 ? filter : null, issues };
}

/** Converts a value to the form of stored values. */
function comparable(source: FilterSource, field: string, value: Operand): Operand {
  if (source !== "builtin" || field !== "content_mime") return value;
  if (typeof value === "string") return mediaType(value);
  return Array.isArray(value) ? (value as readonly unknown[]).map((each) => mediaType(String(each))) : value;
}

function findField(
  field: string,
  { user, dataloader }: FilterSchemas,
): { readonly source: FilterSource; readonly type: MetadataType } | null {
  const inUser = ownMember(user.properties, field);
  if (inUser !== undefined) return { source: "user", type: inUser.type };
  const inDataloader = ownMember(dataloader.properties, field);
  if (inDataloader !== undefined) return { source: "dataloader", type: inDataloader.type };
  const builtin = ownMember<MetadataType>(BUILTIN_FIELDS, field);
  return builtin === undefined ? null : { source: "builtin", type: builtin };
}

function knownFields({ user, dataloader }: FilterSchemas): string {
  const all = [user.properties, dataloader.properties, BUILTIN_FIELDS].flatMap((fields) => Object.keys(fields));
  return distinct(all).slice(0, 30).join(", ");
}

function readOperand(
  type: MetadataType,
  op: FilterOperator,
  value: unknown,
): { readonly value: Operand } | { readonly expected: string } {
  if (op === "exists") {
    // `exists` without a value means `true`.
    return value === undefined || typeof value === "boolean" ? { value: value ?? true } : { expected: "true or false" };
  }
  const element = type === "string_list" ? "string" : type;
  if (op !== "in" && op !== "nin") return readMetadataValue(element, value);
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_VALUES) {
    return { expected: `a list of 1 to ${MAX_VALUES} values` };
  }
  const values: MetadataValue[] = [];
  for (const each of value) {
    const read = readMetadataValue(element, each);
    if ("expected" in read) return { expected: `a list whose items are each ${read.expected}` };
    values.push(read.value);
  }
  return { value: values as readonly string[] | readonly number[] };
}
