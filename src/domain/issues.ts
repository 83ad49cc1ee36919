import type { z } from "zod";
import type { ValidationIssue } from "./errors.ts";
import { ownMember } from "./json.ts";

export type Location = "path" | "query" | "body" | "header";

/** pydantic's messages for zod's invalid types, because clients of the interface already know them. */
const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "string_type",
  number: "float_type",
  int: "int_type",
  boolean: "bool_type",
  array: "list_type",
  object: "dict_type",
  record: "dict_type",
  null: "none_required",
};
const FORMAT_WORDS: Readonly<Record<string, string>> = {
  uuid: "uuid_parsing",
  url: "url_parsing",
  datetime: "datetime_parsing",
  regex: "string_pattern_mismatch",
};
const SIZE_WORDS: Readonly<Record<string, readonly [small: string, big: string]>> = {
  string: ["string_too_short", "string_too_long"],
  array: ["too_short", "too_long"],
  object: ["too_short", "too_long"],
  record: ["too_short", "too_long"],
};

/** Converts a zod error to ValidationErrors of the interface. `input` is the value that was parsed. */
export function toValidationIssues(error: z.ZodError, location: Location, input: unknown): ValidationIssue[] {
  return error.issues.flatMap((issue) => toIssues(issue, [location], input));
}

function toIssues(issue: z.core.$ZodIssue, prefix: ReadonlyArray<string | number>, input: unknown): ValidationIssue[] {
  const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
  const loc = [...prefix, ...path];
  if (issue.code === "unrecognized_keys") {
    const extra = { msg: "Extra inputs are not permitted", type: "extra_forbidden" };
    return issue.keys.map((key) => ({ loc: [...loc, key], ...extra }));
  }
  const isMissing = issue.code === "invalid_type" || issue.code === "invalid_value";
  if (isMissing && valueAt(input, issue.path) === undefined) return [{ loc, msg: "Field required", type: "missing" }];
  return [{ loc, msg: issue.code === "invalid_union" ? unionMessage(issue) : issue.message, type: typeOf(issue) }];
}

/** pydantic's word for an issue of a value that is there. */
function typeOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return TYPE_WORDS[issue.expected] ?? "value_error";
    case "too_small":
      return SIZE_WORDS[issue.origin]?.[0] ?? (issue.inclusive ? "greater_than_equal" : "greater_than");
    case "too_big":
      return SIZE_WORDS[issue.origin]?.[1] ?? (issue.inclusive ? "less_than_equal" : "less_than");
    case "invalid_format":
      return FORMAT_WORDS[issue.format] ?? "value_error";
    case "invalid_value":
      return issue.values.length > 1 ? "enum" : "literal_error";
    case "invalid_union":
      return issue.errors.length === 0 ? "union_tag_invalid" : "value_error";
    case "not_multiple_of":
      return "multiple_of";
    default:
      return "value_error";
  }
}

function unionMessage(issue: z.core.$ZodIssueInvalidUnion): string {
  if (issue.errors.length === 0) return issue.message;
  const alternatives = issue.errors.map((errors) => errors[0]?.message ?? "").filter((message) => message !== "");
  return `No alternative matches: ${[...new Set(alternatives)].join("; ")}`;
}

/** The value at a path; undefined if there is none. */
export function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(ownMember, input);
}
