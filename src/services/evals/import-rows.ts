import { uuidv7 } from "uuidv7";
import type { RowContent } from "../../domain/evals/dataset.ts";
import {
  MAX_IMPORT_ERRORS,
  MAX_IMPORT_ROWS,
  PREVIEW_ROWS,
  mapRecord,
  neededFields,
  type ImportCounts,
  type ImportInput,
  type ImportIssue,
} from "../../domain/evals/import.ts";
import { fieldOf, type JsonObject } from "../../domain/json.ts";
import { RecordsUnreadable } from "../../platform/records.ts";
import { findDataset, nextVersion, setRowCount, type DatasetRow } from "../../stores/evals/datasets.ts";
import {
  applyImport,
  endImport,
  findImport,
  forgetStaged,
  noteImport,
  stageRows,
  type ImportRow,
  type StagedRow,
} from "../../stores/evals/imports.ts";
import { brokenInputs, type DatasetDeps } from "./datasets.ts";
import { SourceUnreadable, recordsOf, type SourceDeps, type SourceRecord } from "./import-source.ts";

export type ImportDeps = SourceDeps & DatasetDeps;

/** Rows that are written together while the source is being read. */
const BATCH = 1000;
/** The approximate size of such a batch (characters of JSON). */
const BATCH_CHARS = 4 * 1024 * 1024;

/** Thrown to roll back a dry run. */
class DryRun extends Error {}

/** A row of the import's preview, with its source run, by which an erasure finds it. */
type PreviewRow = RowContent & Pick<StagedRow, "source_run_id">;

/** The results of an import so far. */
interface Found {
  readonly read: number;
  readonly failed: number;
  readonly errors: ImportIssue[];
  readonly preview: PreviewRow[];
}

/**
 * Reads an import's source and applies it to its dataset, all of it in one version or nothing. Can be called again
 * after any failure. Errors of the source are recorded in the import's row; all others are thrown.
 */
export async function importRows(deps: ImportDeps, input: ImportInput, signal: AbortSignal): Promise<void> {
  const { db } = deps;
  const { org_id, import_id } = input;
  const job = await db.org(org_id, (connection) => findImport(connection, import_id));
  if (job === null || job.status === "completed" || job.status === "failed") return;
  const dataset = await db.org(org_id, (connection) => findDataset(connection, job.dataset_id));
  const reading = createReading(deps, job, dataset);
  try {
    if (dataset === null) throw new SourceUnreadable("dataset_gone", "The dataset was deleted.");
    await db.org(org_id, (connection) => forgetStaged(connection, import_id));
    for await (const record of recordsOf(deps, org_id, job.source, signal)) {
      signal.throwIfAborted();
      await reading.take(record);
    }
    await reading.flush();
    reading.requireSense();
  } catch (error) {
    if (!(error instanceof SourceUnreadable || error instanceof RecordsUnreadable)) throw error;
    const code = error instanceof SourceUnreadable ? error.code : "unreadable_file";
    const { found } = reading;
    // The last error of an aborted import already names the record that aborted it.
    if (code !== "aborted") found.errors.unshift({ line: null, code, message: error.message });
    return await end(deps, job, endOf(found));
  }
  await apply(deps, job, reading.found);
}

function createReading(deps: ImportDeps, job: ImportRow, dataset: DatasetRow | null) {
  const found = { read: 0, failed: 0, errors: [] as ImportIssue[], preview: [] as PreviewRow[] };
  const seen = new Set<string>();
  const isTable = job.source.type === "csv";
  const unseen = new Set(job.mapping === null ? [] : neededFields(job.mapping, isTable));
  let names: readonly string[] | undefined;
  let batch: StagedRow[] = [];
  let chars = 0;

  function fail({ line, run_id }: Pick<SourceRecord, "line" | "run_id">, code: string, message: string): void {
    found.failed += 1;
    const from = run_id === undefined ? {} : { run_id };
    if (found.errors.length < MAX_IMPORT_ERRORS) found.errors.push({ line, code, message, ...from });
    if (job.on_error === "abort") throw new SourceUnreadable("aborted", message);
  }

  async function flush(): Promise<void> {
    if (batch.length === 0 || dataset === null) return;
    const rows = batch;
    batch = [];
    chars = 0;
    const broken = await brokenInputs(deps, dataset, rows);
    for (const [index, message] of broken) {
      const { line = 0, source_run_id = null } = rows[index] ?? {};
      fail({ line, ...(source_run_id === null ? {} : { run_id: source_run_id }) }, "input_schema", message);
    }
    const good = rows.filter((_, index) => !broken.has(index));
    for (const { line: _line, row_id: _row, given: _given, ...row } of good.slice(
      0,
      PREVIEW_ROWS - found.preview.length,
    ))
      found.preview.push(row);
    await deps.db.org(job.org_id, async (connection) => {
      await stageRows(connection, job, good);
      await noteImport(connection, job.import_id, {
        counts: countsOf(found),
        errors: found.errors,
        preview: previewOf(found),
      });
    });
  }

  async function take(record: SourceRecord): Promise<void> {
    found.read += 1;
    if (found.read > MAX_IMPORT_ROWS)
      throw new SourceUnreadable(
        "too_many_rows",
        `One import can have at most ${MAX_IMPORT_ROWS} rows: split the file.`,
      );
    const { line } = record;
    if ("problem" in record) return fail(record, "unreadable_record", record.problem);
    look(record.value);
    const mapped = mapRecord(withoutOthers(record, job), job.mapping, record.exact);
    if (!mapped.ok) return fail(record, mapped.code, mapped.message);
    const external_id = mapped.row.external_id ?? record.run_id ?? null;
    if (external_id !== null && seen.has(external_id))
      return fail(
        record,
        "duplicate_external_id",
        `Duplicate external_id ${JSON.stringify(external_id.slice(0, 100))}`,
      );
    if (external_id !== null) seen.add(external_id);
    const { row, given } = mapped;
    batch.push({ ...row, given, external_id, line, row_id: uuidv7(), source_run_id: record.run_id ?? null });
    chars += JSON.stringify(row).length;
    if (batch.length >= BATCH || chars >= BATCH_CHARS) await flush();
  }

  function look(value: unknown): void {
    if ((names !== undefined && unseen.size === 0) || typeof value !== "object" || value === null) return;
    names ??= Object.keys(value);
    // A column counts as present even if its cell has no value.
    for (const name of unseen)
      if (Object.hasOwn(value, name) || fieldOf(value as JsonObject, name) !== undefined) unseen.delete(name);
  }

  /** A mistyped column name or a file without rows must not empty a dataset or the expected outputs of its rows. */
  function requireSense(): void {
    const [missing] = unseen;
    if (missing !== undefined && names !== undefined) {
      const known = names.slice(0, MAX_NAMES).map((name) => JSON.stringify(name.slice(0, 100)));
      const message = `No record has the field ${JSON.stringify(missing.slice(0, 100))}. The fields of the first record are ${known.join(", ")}.`;
      throw new SourceUnreadable("field_missing", message.slice(0, 1000));
    }
    if (found.failed === found.read && (found.read > 0 || job.mode === "replace")) {
      const message = "No row could be read: the rows of the dataset are unchanged.";
      throw new SourceUnreadable("nothing_to_import", message);
    }
    const isGuarded = job.mode === "replace" && job.on_error === null && !job.dry_run;
    if (isGuarded && found.failed * 2 > found.read) {
      const message = `${found.failed} of ${found.read} records are not valid rows: the rows of the dataset are unchanged. To replace them with the valid rows, send on_error "skip".`;
      throw new SourceUnreadable("mostly_unreadable", message);
    }
  }
  return { found, take, flush, requireSense };
}

/** Most fields named in an error. */
const MAX_NAMES = 20;

/** Drops a record's node outputs if runs are imported without a mapping, since these are not fields of a row. */
function withoutOthers(record: { readonly value: unknown; readonly run_id?: string }, { mapping }: ImportRow): unknown {
  if (record.run_id === undefined || mapping !== null) return record.value;
  const { inputs, expected_outputs, external_id } = record.value as JsonObject;
  return { inputs, expected_outputs, external_id };
}

async function apply(deps: ImportDeps, job: ImportRow, found: Found): Promise<void> {
  const { db } = deps;
  const { org_id, dataset_id, import_id, dry_run } = job;
  let dry: Changed | undefined;
  try {
    await db.orgTransaction(org_id, async (connection) => {
      const dataset = await findDataset(connection, dataset_id, true);
      if (dataset === null) return;
      const version = dataset.version + 1;
      const changed = await applyImport(connection, job, version);
      if (dry_run) {
        dry = changed;
        throw new DryRun();
      }
      const hasChanged = changed.created + changed.updated + changed.removed > 0;
      if (hasChanged) {
        await nextVersion(connection, dataset_id, 0);
        await setRowCount(connection, dataset_id);
      }
      const applied = { changed, version: hasChanged ? version : dataset.version };
      await endImport(connection, import_id, endOf(found, applied));
    });
  } catch (error) {
    if (!(error instanceof DryRun)) throw error;
  }
  if (dry) await end(deps, job, endOf(found, { changed: dry, version: null }));
  const after = await db.org(org_id, (connection) => findImport(connection, import_id));
  if (after?.status === "running" || after?.status === "pending") {
    found.errors.unshift({ line: null, code: "dataset_gone", message: "The dataset was deleted." });
    await end(deps, job, endOf(found));
  } else await discardFile(deps, job);
}

type Changed = Pick<ImportCounts, "created" | "updated" | "removed">;
type ImportEnd = Parameters<typeof endImport>[2];

/** The end of an import that was applied, or of one that has failed. */
function endOf(found: Found, applied?: { readonly changed: Changed; readonly version: number | null }): ImportEnd {
  const { read, failed, errors } = found;
  const { changed = { created: 0, updated: 0, removed: 0 }, version = null } = applied ?? {};
  const skipped = applied ? read - failed - changed.created - changed.updated : 0;
  return {
    status: applied ? "completed" : "failed",
    counts: { ...countsOf(found), ...changed, skipped },
    errors: errors.slice(0, MAX_IMPORT_ERRORS),
    preview: previewOf(found),
    version,
  };
}

async function end(deps: ImportDeps, job: ImportRow, ending: ImportEnd): Promise<void> {
  await deps.db.orgTransaction(job.org_id, (connection) => endImport(connection, job.import_id, ending));
  await discardFile(deps, job);
}

/** Ends an import that an internal error has stopped. */
export async function failImport(
  deps: ImportDeps,
  { org_id, import_id }: ImportInput,
  error: { readonly code: string; readonly message: string },
): Promise<void> {
  const job = await deps.db.org(org_id, (connection) => findImport(connection, import_id));
  if (job === null) return;
  const errors = [{ line: null, ...error }, ...job.errors].slice(0, MAX_IMPORT_ERRORS);
  const { counts, preview } = job;
  await end(deps, job, { status: "failed", counts, errors, preview, version: null });
}

/** Deletes the uploaded file after it was read. A failure is ignored, since the file is small compared with the dataset. */
async function discardFile({ blobs }: ImportDeps, { source }: ImportRow): Promise<void> {
  if ("blob_key" in source) await blobs.delete(source.blob_key).catch(() => undefined);
}

function countsOf({ read, failed }: Found): ImportCounts {
  return { read, created: 0, updated: 0, skipped: 0, failed, removed: 0 };
}

function previewOf({ preview }: Found): JsonObject[] {
  return preview.map((row) => ({ ...row, tags: [...row.tags] }));
}
