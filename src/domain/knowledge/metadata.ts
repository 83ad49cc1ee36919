import { z } from "zod";
import { textUpTo, wholeNumber } from "../schema-parts.ts";
import type { ValidationIssue } from "../errors.ts";
import { isLongNumber } from "../exact-json.ts";
import { ownMember } from "../json.ts";

export const METADATA_TYPES = ["string", "number", "boolean", "date", "string_list"] as const;
export type MetadataType = (typeof METADATA_TYPES)[number];

const MAX_PROPERTIES = 200;
const MAX_STRING = 4000;
const MAX_LIST = 1000;

/** The metadata fields of a knowledge base's documents. */
export const metadataSchemaSchema = z.strictObject({
  properties: z
    .record(
      textUpTo(200).refine((name) => name !== "__proto__", "this name is reserved"),
      z.strictObject({
        type: z.enum(METADATA_TYPES),
        description: z.string().max(2000).default(""),
        order: wholeNumber(0, 100_000).default(0),
        subtype: z.string().max(100).optional(),
        options: z.array(z.string().max(MAX_STRING)).max(MAX_LIST).optional(),
      }),
    )
    .refine(
      (properties) => Object.keys(properties).length <= MAX_PROPERTIES,
      `can have at most ${MAX_PROPERTIES} properties`,
    ),
});

export type MetadataSchema = Readonly<z.infer<typeof metadataSchemaSchema>>;

export type MetadataValue = string | number | boolean | readonly string[];
export type Metadata = Readonly<Record<string, MetadataValue>>;

/** Fields that every document has, with the type for comparisons. */
export const BUILTIN_FIELDS = {
  resource_id: "string",
  resource_path: "string",
  source: "string",
  source_url: "string",
  external_id: "string",
  content_mime: "string",
  size: "number",
  page_count: "number",
  created_at: "date",
  modified_at: "date",
  indexed_at: "date",
} as const satisfies Record<string, MetadataType>;
export type BuiltinField = keyof typeof BUILTIN_FIELDS;

/** A content type without parameters, as filters compare it. */
export function mediaType(contentType: string): string {
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** A date as it is stored and compared, `2026-01-31T00:00:00.000Z`; null if the text is not a date. A time without a zone is in UTC. */
function normalizeDate(text: string): string | null {
  const [, day = "", clock = ""] = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](.*))?$/.exec(text) ?? [];
  // JavaScript would parse "2026-02-31" as a day in March.
  if (!isoTime(day)?.startsWith(day)) return null;
  if (clock === "" && text.length > day.length) return null;
  const time = isoTime(clock === "" ? day : `${day}T${clock}${/^[\d:.]+$/.test(clock) ? "Z" : ""}`);
  // Years with more than four digits would not sort as text.
  return time !== null && /^\d{4}-/.test(time) ? time : null;
}

function isoTime(text: string): string | null {
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

/** A value as it is stored, or a sentence that says what was expected. */
export function readMetadataValue(
  type: MetadataType,
  value: unknown,
): { readonly value: MetadataValue } | { readonly expected: string } {
  switch (type) {
    case "string":
      return typeof value === "string" && value.length <= MAX_STRING
        ? { value }
        : { expected: `a string of at most ${MAX_STRING} characters` };
    case "number":
      if (typeof value === "number" && Number.isFinite(value)) {
        // A larger number has already lost digits, so it is rejected.
        if (!Number.isInteger(value) || Number.isSafeInteger(value)) return { value };
      } else if (typeof value !== "string" || !isLongNumber(value)) return { expected: "a number" };
      return { expected: `a number (whole numbers up to ${Number.MAX_SAFE_INTEGER})` };
    case "boolean":
      return typeof value === "boolean" ? { value } : { expected: "true or false" };
    case "date": {
      const date = typeof value === "string" ? normalizeDate(value) : null;
      return date === null ? { expected: 'a date such as "2026-01-31" or "2026-01-31T12:00:00Z"' } : { value: date };
    }
    case "string_list":
      return Array.isArray(value) &&
        value.length <= MAX_LIST &&
        value.every((item): item is string => typeof item === "string" && item.length <= MAX_STRING)
        ? { value }
        : { expected: `a list of at most ${MAX_LIST} strings of at most ${MAX_STRING} characters` };
  }
}

/** Whether all texts of a value are among the options of its field, if it has any. */
export function isOption(value: MetadataValue, options: readonly string[] | undefined): boolean {
  const given = Array.isArray(value) ? (value as readonly string[]) : [String(value)];
  return options === undefined || given.every((each) => options.includes(each));
}

const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Converts a stored value to another type; null if that would lose information. */
export function convertMetadataValue(type: MetadataType, value: MetadataValue): MetadataValue | null {
  const single = Array.isArray(value) && value.length === 1 ? String(value[0]) : value;
  const text = typeof single === "string" ? single.trim() : null;
  let candidate: unknown = single;
  if (type === "string") candidate = typeof single === "object" ? single : String(single);
  if (type === "string_list") candidate = Array.isArray(value) ? value : [String(value)];
  if (type === "boolean" && (text === "true" || text === "false")) candidate = text === "true";
  if (type === "number" && text !== null && NUMBER.test(text)) candidate = Number(text);
  const read = readMetadataValue(type, candidate);
  return "value" in read ? read.value : null;
}

/**
 * A document's metadata as it is stored. Dates are in one form, so that filters can compare them as text; null values are omitted. Fields
 * that the schema does not have, and values of another type or option, are issues.
 */
export function readMetadata(
  schema: MetadataSchema,
  values: Readonly<Record<string, unknown>>,
  loc: ReadonlyArray<string | number>,
): { readonly metadata: Metadata; readonly issues: readonly ValidationIssue[] } {
  const metadata: Record<string, MetadataValue> = {};
  const issues: ValidationIssue[] = [];
  for (const [name, value] of Object.entries(values)) {
    const place = [...loc, name];
    const property = ownMember(schema.properties, name);
    if (property === undefined) {
      const msg = `the metadata schema has no field ${JSON.stringify(name)}`;
      issues.push({ loc: place, msg, type: "unknown_field" });
      continue;
    }
    if (value === null || value === undefined) continue;
    const read = readMetadataValue(property.type, value);
    if ("expected" in read) {
      issues.push({ loc: place, msg: `must be ${read.expected}`, type: "wrong_type" });
      continue;
    }
    if (isOption(read.value, property.options)) metadata[name] = read.value;
    else issues.push({ loc: place, msg: `must be one of ${property.options?.join(", ")}`, type: "unknown_option" });
  }
  return { metadata, issues };
}
