import { z } from "zod";
import { fieldOf, isObject, type Json, type JsonObject } from "../json.ts";
import { TERMINAL_STATES } from "../runs/run.ts";
import { unstorableText } from "../storable.ts";
import { timeText } from "../timestamps.ts";
import { rowContent, rowContentSchema, tooLong, type RowContent } from "./dataset.ts";

export const FILE_TYPES = ["csv", "jsonl", "json"] as const;
export type FileType = (typeof FILE_TYPES)[number];
export const IMPORT_MODES = ["append", "upsert", "replace"] as const;
export type ImportMode = (typeof IMPORT_MODES)[number];
export const IMPORT_STATUSES = ["pending", "running", "completed", "failed"] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

export const MAX_IMPORT_ROWS = 250_000;
/** Most errors that an import lists; all are counted. */
export const MAX_IMPORT_ERRORS = 100;
export const PREVIEW_ROWS = 10;

const column = z.string().min(1).max(500);

/** Maps fields of a record to parts of a row. */
export const mappingSchema = z
  .strictObject({
    inputs: z.record(z.string(), column).optional(),
    expected_outputs: z.record(z.string(), column).optional(),
    metadata: z.record(z.string(), column).optional(),
    split: column.optional(),
    external_id: column.optional(),
  })
  .refine((mapping) => Object.keys(mapping.inputs ?? {}).length > 0, {
    path: ["inputs"],
    message: "Name at least one input",
  })
  .describe(
    'For each part of a row, the name of the column or field to read (`a.b`: a field within one), for example `{"inputs": {"in-0": "question"}}`. If omitted, records are read in the ' +
      "export format: fields, or columns `inputs.<id>`, `expected_outputs.<id>`, `metadata.<name>`, `split`, `tags`, `external_id`. For runs the names are node IDs; by default all inputs and outputs are used.",
  );
export type Mapping = z.output<typeof mappingSchema>;

/** Which runs become rows. */
export const runFilterSchema = z.strictObject({
  project_id: z.uuid(),
  state: z.enum(TERMINAL_STATES).default("COMPLETED"),
  created_after: timeText.optional(),
  score: z
    .strictObject({
      name: z.string().min(1).max(200).optional(),
      evaluator_id: z.uuid().toLowerCase().optional(),
      min: z.number().optional().describe("Lowest value of the score; booleans count as 1 and 0."),
      max: z.number().optional(),
      passed: z.boolean().optional(),
    })
    .refine((score) => Object.keys(score).length > 0, "Select the scores by name, evaluator_id, min, max or passed")
    .optional()
    .describe("Only runs with one score that meets all these conditions, from any source."),
});
export type RunSourceFilter = z.output<typeof runFilterSchema>;

/** The source of an import's records, as it is stored. */
export type ImportSource =
  | { readonly type: FileType; readonly blob_key: string }
  | { readonly type: FileType; readonly url: string }
  | { readonly type: "runs"; readonly filter: RunSourceFilter; readonly limit: number };

export type ImportCounts = Readonly<Record<"read" | "created" | "updated" | "skipped" | "failed" | "removed", number>>;

/** A problem of one record, or of the whole file if `line` is null. */
export interface ImportIssue {
  readonly line: number | null;
  readonly code: string;
  readonly message: string;
  /** The run whose data the message may quote; not shown. */
  readonly run_id?: string;
}

/** The input of an import's workflow. */
export interface ImportInput {
  readonly org_id: string;
  readonly import_id: string;
}

/** Parts of a row that an import may set, besides the external ID. */
export const ROW_PARTS = ["inputs", "expected_outputs", "metadata", "split", "tags"] as const;
export type RowPart = (typeof ROW_PARTS)[number];

/** A row made from a record, with the parts that the record provides; or the reason why there is none. */
export type MappedRecord =
  | { readonly ok: true; readonly row: RowContent; readonly given: readonly RowPart[] }
  | { readonly ok: false; readonly code: string; readonly message: string };

/**
 * Makes a row from a record: by the mapping or, without one, from the format that exports write. In an exact record of a table, undefined
 * means no value, and an empty string is a value.
 */
export function mapRecord(record: unknown, mapping: Mapping | null, isExact = false): MappedRecord {
  if (!isObject(record)) return refused("not_an_object", "A record must be an object of fields");
  let wanted: unknown;
  if (mapping === null) wanted = withoutMapping(record, isExact);
  else {
    // A mapped cell without a value is an empty string, as in any table.
    const field = (name: string): Json | undefined => {
      const value = fieldOf(record, name);
      return value === undefined && isExact && Object.hasOwn(record, name) ? "" : value;
    };
    const missing = Object.values(mapping.inputs ?? {}).find((name) => field(name) === undefined);
    if (missing !== undefined)
      return refused("field_missing", `The record does not have the field ${JSON.stringify(missing)}`);
    const part = (names: Readonly<Record<string, string>> | undefined): JsonObject =>
      Object.fromEntries(
        Object.entries(names ?? {}).flatMap(([to, from]) => {
          const value = field(from);
          return value === undefined ? [] : [[to, value]];
        }),
      );
    const text = (name: string | undefined): unknown => {
      const value = name === undefined ? undefined : fieldOf(record, name);
      return value === "" || value === null ? undefined : typeof value === "number" ? String(value) : value;
    };
    wanted = {
      inputs: part(mapping.inputs),
      expected_outputs: part(mapping.expected_outputs),
      metadata: part(mapping.metadata),
      split: text(mapping.split),
      external_id: text(mapping.external_id),
    };
  }
  const parsed = rowContentSchema.safeParse(wanted);
  if (!parsed.success) {
    const places = parsed.error.issues
      .slice(0, 3)
      .map(({ path, message }) => `${path.join(".") || "record"}: ${message}`);
    return refused("invalid_row", places.join("; "));
  }
  const row = rowContent(parsed.data);
  const long = tooLong(row);
  if (long !== undefined) return refused("row_too_long", long);
  const unstorable = unstorableText(row as unknown as Json);
  if (unstorable) return refused("text_not_storable", `${unstorable.place.slice(0, 200)} contains ${unstorable.fault}`);
  const named = mapping === null ? Object.keys(record).map((name) => name.split(".")[0]) : Object.keys(mapping);
  return { ok: true, row, given: ROW_PARTS.filter((part) => named.includes(part)) };
}

/**
 * Mapped fields that must occur in at least one record. The header of a table must have all of them; in other formats, metadata and split
 * may be missing.
 */
export function neededFields(
  { inputs, expected_outputs, metadata, external_id, split }: Mapping,
  isTable: boolean,
): string[] {
  const names = [...Object.values(inputs ?? {}), ...Object.values(expected_outputs ?? {}), external_id];
  const others = isTable ? [...Object.values(metadata ?? {}), split] : [];
  return [...new Set([...names, ...others].filter((name) => name !== undefined))];
}

function refused(code: string, message: string): MappedRecord {
  return { ok: false, code, message: message.slice(0, 500).toWellFormed() };
}

const PARTS = ["inputs", "expected_outputs", "metadata"];
/** Columns of an export that an import ignores, because the dataset sets them itself. */
const OWN = ["row_id", "status", "source", "created_at", "updated_at", "version", "dataset_id"];

/** The row of an exported record. Columns of a table such as `inputs.question` become nested objects. */
function withoutMapping(fields: Readonly<Record<string, Json | undefined>>, isExact: boolean): JsonObject {
  const row: Record<string, Json> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (OWN.includes(name)) continue;
    const dot = name.indexOf(".");
    const part = name.slice(0, dot);
    if (dot > 0 && PARTS.includes(part)) {
      const others = row[part] as JsonObject | undefined;
      if (value === undefined || ((value === "" || value === null) && !isExact)) {
        // An exported row may have a part without fields, such as empty inputs.
        if (isExact) row[part] = { ...others };
      } else row[part] = { ...others, [name.slice(dot + 1)]: value };
    } else if (value === null || value === undefined) continue;
    else if (name === "tags" && typeof value === "string") {
      row["tags"] = value.split(",").flatMap((tag) => (tag.trim() === "" ? [] : [tag.trim()]));
    } else if (value !== "") row[name] = value;
  }
  return row;
}
