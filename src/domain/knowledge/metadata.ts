import { z } from "zod";
import type { ValidationIssue } from "../errors.ts";

export const METADATA_TYPES = ["string", "number", "boolean", "date", "string_list"] as const;
export type MetadataType = (typeof METADATA_TYPES)[number];

const MAX_PROPERTIES = 200;
const MAX_STRING = 4000;
const MAX_LIST = 1000;

/** The fields that the resources of a knowledge base may carry. */
export const metadataSchemaSchema = z.strictObject({
  properties: z
    .record(
      z
        .string()
        .min(1)
        .max(200)
        .refine((name) => name !== "__proto__", "the name cannot be used"),
      z.strictObject({
        type: z.enum(METADATA_TYPES),
        description: z.string().max(2000).default(""),
        order: z.int().min(0).max(100_000).default(0),
        subtype: z.string().max(100).optional(),
        options: z.array(z.string().max(MAX_STRING)).max(MAX_LIST).optional(),
      }),
    )
    .refine((properties) => Object.keys(properties).length <= MAX_PROPERTIES, `at most ${MAX_PROPERTIES} properties`),
});

export type MetadataSchema = Readonly<z.infer<typeof metadataSchemaSchema>>;

export type MetadataValue = string | number | boolean | readonly string[];
export type Metadata = Readonly<Record<string, MetadataValue>>;

/** Fields that every resource has, with the type they are compared as. */
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

/** A content type without its parameters: what filters compare. */
export function mediaType(contentType: string): string {
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/**
 * A date as it is stored and compared, `2026-01-31T00:00:00.000Z`, or null where the text is none. A time that does not
 * say its zone is in UTC.
 */
function normalizeDate(text: string): string | null {
  const [, day = "", clock = ""] = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](.*))?$/.exec(text) ?? [];
  // "2026-02-31" is parsed as a day in March.
  if (!isoTime(day)?.startsWith(day)) return null;
  if (clock === "" && text.length > day.length) return null;
  const time = isoTime(clock === "" ? day : `${day}T${clock}${/^[\d:.]+$/.test(clock) ? "Z" : ""}`);
  // Texts of longer years are in no order.
  return time !== null && /^\d{4}-/.test(time) ? time : null;
}

function isoTime(text: string): string | null {
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

/** A value as it is stored, or a sentence saying what was expected. */
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
      if (typeof value !== "number" || !Number.isFinite(value)) return { expected: "a number" };
      // Beyond it the digits that were sent are lost already.
      return Number.isInteger(value) && !Number.isSafeInteger(value)
        ? { expected: `a number (a whole one of at most ${Number.MAX_SAFE_INTEGER})` }
        : { value };
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

const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A stored value as one of another type; null where it cannot be that without loss. */
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
 * The metadata of a resource as it is stored, dates in one form, so that filters compare them as text; null values are
 * left out. What the schema does not have, or has with another type or other options, is an issue.
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
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (property === undefined) {
      const msg = `the metadata schema has no field ${JSON.stringify(name)}`;
      issues.push({ loc: place, msg, type: "unknown_field" });
      continue;
    }
    if (value === null || value === undefined) continue;
    const read = readMetadataValue(property.type, value);
    if ("expected" in read) {
      issues.push({ loc: place, msg: `${read.expected} is expected`, type: "wrong_type" });
      continue;
    }
    const { options } = property;
    const given = Array.isArray(read.value) ? (read.value as readonly string[]) : [String(read.value)];
    if (options !== undefined && given.some((each) => !options.includes(each))) {
      issues.push({ loc: place, msg: `one of ${options.join(", ")} is expected`, type: "unknown_option" });
      continue;
    }
    metadata[name] = read.value;
  }
  return { metadata, issues };
}
