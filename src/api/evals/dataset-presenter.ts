import { z } from "zod";
import { ROW_SOURCES, ROW_STATUSES } from "../../domain/evals/dataset.ts";
import { IMPORT_MODES, IMPORT_STATUSES } from "../../domain/evals/import.ts";
import type { DatasetRowRow } from "../../stores/evals/dataset-rows.ts";
import type { DatasetRow } from "../../stores/evals/datasets.ts";
import type { ImportRow } from "../../stores/evals/imports.ts";
import { asDeclared } from "../http/as-declared.ts";

const values = z.record(z.string(), z.unknown());

export const datasetSchema = z
  .object({
    dataset_id: z.uuid(),
    name: z.string(),
    description: z.string(),
    project_id: z.uuid().nullable(),
    version: z
      .int()
      .describe("Number of the current version. Each change of the rows increases it; 0 is the empty dataset."),
    row_count: z.int().describe("Number of rows in the current version, including archived rows."),
    input_schema: values.nullable().describe("JSON Schema 2020-12 that the inputs of every row must match."),
    metadata: values,
    tags: z.array(z.string()),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "Dataset" });

export const presentDataset = (dataset: DatasetRow) => asDeclared(datasetSchema, dataset);

export const rowSchema = z
  .object({
    row_id: z.uuid(),
    dataset_id: z.uuid(),
    version: z.int().describe("Dataset version that last changed this row."),
    external_id: z.string().nullable(),
    inputs: values,
    expected_outputs: values,
    metadata: values,
    split: z.string().nullable(),
    tags: z.array(z.string()),
    source: z.object({ type: z.enum(ROW_SOURCES), run_id: z.uuid().nullable() }),
    status: z.enum(ROW_STATUSES).describe("State of the row; experiments skip archived rows."),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "DatasetRow" });

export function presentRow(row: DatasetRowRow): z.infer<typeof rowSchema> {
  return asDeclared(rowSchema, {
    ...row,
    version: row.from_version,
    source: { type: row.source_type, run_id: row.source_run_id },
  });
}

export const importSchema = z
  .object({
    import_id: z.uuid(),
    dataset_id: z.uuid(),
    status: z.enum(IMPORT_STATUSES),
    mode: z.enum(IMPORT_MODES),
    dry_run: z.boolean(),
    counts: z.object({
      read: z.int(),
      created: z.int(),
      updated: z.int(),
      skipped: z.int().describe("Rows that already existed and did not change."),
      failed: z.int(),
      removed: z.int().describe("Rows that `replace` deletes because the import does not contain them."),
    }),
    errors: z
      .array(z.object({ line: z.int().nullable(), code: z.string(), message: z.string() }))
      .describe("Up to 100 errors; `counts.failed` counts all. `line` is `null` for errors of the whole import."),
    preview: z.array(values).describe("The first ten rows as they will be stored."),
    version: z.int().nullable().describe("Dataset version that contains the rows; `null` for a dry run."),
    created_at: z.iso.datetime(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "DatasetImport" });

export function presentImport(row: ImportRow): z.infer<typeof importSchema> {
  const preview = row.preview.map(({ source_run_id: _run, ...shown }) => shown);
  return asDeclared(importSchema, { ...row, preview });
}
