import { z } from "zod";
import { fieldOf, isObject } from "../json.ts";
import type { Json, JsonObject } from "../json.ts";
import { TERMINAL_STATES } from "../runs/run.ts";
import { unstorableText } from "../storable.ts";
import { timeText } from "../timestamps.ts";
import { rowContent, rowContentSchema, tooLong } from "./dataset.ts";
import type { RowContent } from "./dataset.ts";

export const FILE_TYPES = ["csv", "jsonl", "json"] as const;
export type FileType = (typeof FILE_TYPES)[number];
export const IMPORT_MODES = ["append", "upsert", "replace"] as const;
export type ImportMode = (typeof IMPORT_MODES)[number];
export const IMPORT_STATUSES = ["pending", "running", "completed", "failed"] as const;
export type ImportStatus = (typeof IMPORT_STATUSES)[number];

/** Rows of one import. */
export const MAX_IMPORT_ROWS = 250_000;
/** Errors that an import lists; all are counted. */
export const MAX_IMPORT_ERRORS = 100;
/** Rows that an import shows as they would be. */
export const PREVIEW_ROWS = 10;

const column = z.string().min(1).max(500);

/** Which field of a record becomes which member of a row. */
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
    message: "Name one input at least",
  })
  .describe(
    'From what of a row to the name of a column or field (`a.b`: a field within one), e.g. `{"inputs": {"in-0": "question"}}`. Without it a record is a row as ' +
      "exports have them: members, or columns `inputs.<id>`, `expected_outputs.<id>`, `metadata.<name>`, `split`, `tags`, `external_id`. Of runs: by node id, by default all inputs and outputs.",
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
      min: z.number().optional().describe("Booleans count as 1 and 0."),
      max: z.number().optional(),
      passed: z.boolean().optional(),
    })
    .refine((score) => Object.keys(score).length > 0, "Say which scores: by name, evaluator_id, min, max or passed")
    .optional()
    .describe("Only runs with a score that all of this holds for, whoever gave it."),
});
export type RunSourceFilter = z.output<typeof runFilterSchema>;

/** The source of an import's records, as it is stored. */
export type ImportSource =
  | { readonly type: FileType; readonly blob_key: string }
  | { readonly type: FileType; readonly url: string }
  | { readonly type: "runs"; readonly filter: RunSourceFilter; readonly limit: number };

export interface ImportCounts {
  readonly read: number;
  readonly created: number;
  readonly updated: number;
  readonly skipped: number;
  readonly failed: number;
  readonly removed: number;
}

/** What is wrong with a record, or (line null) with the whole file. */
export interface ImportIssue {
  readonly line: number | null;
  readonly code: string;
  readonly message: string;
}

/** The input of an import's workflow. */
export interface ImportInput {
  readonly org_id: string;
  readonly import_id: string;
}

/** Members of a row that an import may set, besides its external id. */
export const ROW_PARTS = ["inputs", "expected_outputs", "metadata", "split", "tags"] as const;
export type RowPart = (typeof ROW_PARTS)[number];

/** A record made into a row, with what of it the record speaks of; or why it cannot be one. */
export type MappedRecord =
  | { readonly ok: true; readonly row: RowContent; readonly given: readonly RowPart[] }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** Makes a row of a record: by the mapping or, without one, in the form in which exports write rows. */
export function mapRecord(record: unknown, mapping: Mapping | null): MappedRecord {
  if (!isObject(record)) return refused("not_an_object", "A record is an object of fields");
  let wanted: unknown;
  if (mapping === null) wanted = withoutMapping(record);
  else {
    const missing = Object.values(mapping.inputs ?? {}).find((name) => fieldOf(record, name) === undefined);
    if (missing !== undefined) return refused("field_missing", `The record has no field ${JSON.stringify(missing)}`);
    const part = (names: Readonly<Record<string, string>> | undefined): JsonObject =>
      Object.fromEntries(
        Object.entries(names ?? {}).flatMap(([to, from]) => {
          const value = fieldOf(record, from);
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
  if (unstorable) return refused("text_not_storable", `${unstorable.place.slice(0, 200)} has ${unstorable.fault}`);
  const named = mapping === null ? Object.keys(record).map((name) => name.split(".")[0]) : Object.keys(mapping);
  return { ok: true, row, given: ROW_PARTS.filter((part) => named.includes(part)) };
}

/**
 * Fields of a mapping that some record must have. The header of a table has all of them; elsewhere a record may lack
 * metadata or a split.
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
/** Columns of an export that an import does not read: they are the dataset's own. */
const OWN = ["row_id", "status", "source", "created_at", "updated_at", "version", "dataset_id"];

/** A record of an export: its members, or the columns of a table put together. */
function withoutMapping(fields: JsonObject): JsonObject {
  const row: Record<string, Json> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (OWN.includes(name) || value === null) continue;
    const dot = name.indexOf(".");
    const part = name.slice(0, dot);
    if (dot > 0 && PARTS.includes(part)) {
      if (value !== "") row[part] = { ...(row[part] as JsonObject | undefined), [name.slice(dot + 1)]: value };
    } else if (name === "tags" && typeof value === "string") {
      row["tags"] = value.split(",").flatMap((tag) => (tag.trim() === "" ? [] : [tag.trim()]));
    } else if (value !== "") row[name] = value;
  }
  return row;
}
