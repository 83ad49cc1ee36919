import type { FilterCondition, FilterSource, ResolvedFilter } from "../../domain/knowledge/filter.ts";
import { BUILTIN_FIELDS, type BuiltinField } from "../../domain/knowledge/metadata.ts";
import { timeText } from "../time-text.ts";

const METADATA_COLUMNS: Readonly<Record<Exclude<FilterSource, "builtin">, string>> = {
  user: "r.user_metadata",
  dataloader: "r.dataloader_metadata",
};
/** Times in the text form that filters compare, content types without their parameters. */
const BUILTIN_SQL: Readonly<Record<BuiltinField, string>> = {
  resource_id: "r.resource_id::text",
  resource_path: "r.resource_path",
  source: "r.source",
  source_url: "r.source_url",
  external_id: "r.external_id",
  content_mime: "split_part(r.content_mime, ';', 1)",
  size: "r.size::numeric",
  page_count: "r.page_count::numeric",
  created_at: timeText("r.created_at"),
  modified_at: timeText("r.modified_at"),
  indexed_at: timeText("r.indexed_at"),
};
const COMPARISONS = { eq: "=", ne: "=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/**
 * A filter as a condition on `knowledge_resources r`. Names of fields and values are appended to `values` and appear only as parameters;
 * the rest of the text consists of constants in this file. The condition is never null, so that it can be negated.
 */
export function filterSql(filter: ResolvedFilter, values: unknown[]): string {
  switch (filter.kind) {
    case "and":
    case "or":
      return `(${filter.all.map((each) => filterSql(each, values)).join(` ${filter.kind} `)})`;
    case "not":
      return `(not ${filterSql(filter.inner, values)})`;
    case "condition":
      return conditionSql(filter, values);
  }
}

function conditionSql(condition: FilterCondition, values: unknown[]): string {
  const { op, type, value } = condition;
  const bind = (bound: unknown, cast: string): string => `$${values.push(bound)}::${cast}`;
  const { present, scalar, list } = operands(condition, bind);
  const cast = type === "number" ? "numeric" : type === "boolean" ? "boolean" : "text";
  const not = op === "ne" || op === "nin" ? "not " : "";
  switch (op) {
    case "exists":
      return value === true ? present : `(not ${present})`;
    case "contains":
      return type === "string_list"
        ? `coalesce(${list} ? ${bind(value, "text")}, false)`
        : `coalesce(position(${bind(value, "text")} in ${scalar}) > 0, false)`;
    case "in":
    case "nin":
      return type === "string_list"
        ? `(${not}coalesce(${list} ?| ${bind(value, "text[]")}, false))`
        : `(${not}coalesce(${scalar} = any(${bind(value, `${cast}[]`)}), false))`;
    case "eq":
    case "ne":
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const collate = cast === "text" ? ' collate "C"' : "";
      return `(${not}coalesce(${scalar}${collate} ${COMPARISONS[op]} ${bind(value, cast)}, false))`;
    }
  }
}

/** Builds the stored value to compare. A stored value whose type is no longer the field's counts as missing. */
function operands(
  { source, field, type }: FilterCondition,
  bind: (value: unknown, cast: string) => string,
): { readonly present: string; readonly scalar: string; readonly list: string } {
  if (source === "builtin") {
    if (!Object.hasOwn(BUILTIN_FIELDS, field)) throw new Error("Unknown built-in field.");
    const scalar = BUILTIN_SQL[field as BuiltinField];
    return { present: `(${scalar} is not null)`, scalar, list: "null::jsonb" };
  }
  const name = bind(field, "text");
  const json = `(${METADATA_COLUMNS[source]} -> ${name})`;
  const jsonType = { number: "number", boolean: "boolean", string_list: "array", string: "string", date: "string" }[
    type
  ];
  const isType = `(coalesce(jsonb_typeof${json}, '') = '${jsonType}')`;
  const text = `(${METADATA_COLUMNS[source]} ->> ${name})`;
  const cast = type === "number" ? "::numeric" : type === "boolean" ? "::boolean" : "";
  return {
    present: isType,
    // The cast stands inside a `case`, so that values of other types are not cast.
    scalar: `(case when ${isType} then ${text}${cast} end)`,
    list: `(case when ${isType} then ${json} end)`,
  };
}
