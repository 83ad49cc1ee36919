import type { RowContent } from "../../domain/evals/dataset.ts";
import {
  ROW_PARTS,
  type ImportCounts,
  type ImportInput,
  type ImportIssue,
  type ImportMode,
  type ImportSource,
  type ImportStatus,
  type Mapping,
  type RowPart,
} from "../../domain/evals/import.ts";
import type { JsonObject } from "../../domain/json.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";

const ROW = columns(`import_id uuid, org_id uuid, dataset_id uuid, source jsonb, mapping jsonb null, mode text,
  on_error text null, dry_run boolean, status text, counts jsonb, errors jsonb, preview jsonb, version int null,
  created_at timestamptz, finished_at timestamptz null`);

export interface ImportRow extends RowOf<typeof ROW> {
  readonly source: ImportSource;
  readonly mapping: Mapping | null;
  readonly mode: ImportMode;
  /** `null` means `skip`, except that a `replace` must not skip most of its records. */
  readonly on_error: "skip" | "abort" | null;
  readonly status: ImportStatus;
  readonly counts: ImportCounts;
  readonly errors: readonly ImportIssue[];
  readonly preview: readonly JsonObject[];
}

const GIVEN = columns(`import_id uuid, org_id uuid, dataset_id uuid, source jsonb, mapping jsonb, mode text,
  on_error text, dry_run boolean`);

export type NewImport = Pick<ImportRow, NameOf<typeof GIVEN>>;

const COLUMNS = ROW.select();

/** Inserts an import; false if the id exists (the same request, retried). */
export async function insertImport(db: Db, row: NewImport): Promise<boolean> {
  return db.any(`insert into eval_imports ${GIVEN.into} on conflict (import_id) do nothing`, GIVEN.values(row));
}

/** One import of a dataset, or null. */
export async function findImport(db: Db, importId: string): Promise<ImportRow | null> {
  return db.first(`select ${COLUMNS} from eval_imports where org_id = current_org() and import_id = $1::uuid`, [
    importId,
  ]);
}

/** A record that became a row. */
export interface StagedRow extends RowContent {
  /** The fields of the row that the record sets. */
  readonly given: readonly RowPart[];
  readonly line: number;
  readonly row_id: string;
  readonly source_run_id: string | null;
}

/** Stores rows until they are applied. Rows of lines that are already stored stay as they are. */
export async function stageRows(db: Db, { org_id, import_id }: ImportInput, rows: readonly StagedRow[]): Promise<void> {
  await db.query(
    `insert into eval_import_rows (import_id, org_id, line, row_id, external_id, inputs, expected_outputs, metadata, split, tags, given, source_run_id)
      select $1::uuid, $2::uuid, r.line, r.row_id, r.external_id, r.inputs, r.expected_outputs, r.metadata, r.split,
        array(select jsonb_array_elements_text(r.tags)), array(select jsonb_array_elements_text(r.given)), r.source_run_id
      from jsonb_to_recordset($3::jsonb) r(line int, row_id uuid, external_id text, inputs jsonb, expected_outputs jsonb,
        metadata jsonb, split text, tags jsonb, given jsonb, source_run_id uuid)
      on conflict (import_id, line) do nothing`,
    [import_id, org_id, jsonb(rows)],
  );
}

/** Removes the rows that an earlier attempt stored. */
export async function forgetStaged(db: Db, importId: string): Promise<void> {
  await db.query("delete from eval_import_rows where org_id = current_org() and import_id = $1::uuid", [importId]);
}

/** Records the progress of an import; false if the import has finished. */
export async function noteImport(
  db: Db,
  importId: string,
  { counts, errors, preview }: Pick<ImportRow, "counts" | "errors" | "preview">,
): Promise<boolean> {
  return db.any(
    `update eval_imports set status = 'running', counts = $2::jsonb, errors = $3::jsonb, preview = $4::jsonb, checked_at = now()
      where org_id = current_org() and import_id = $1::uuid and status in ('pending', 'running')`,
    [importId, jsonb(counts), jsonb(errors), jsonb(preview)],
  );
}

/** Finishes an import and removes its stored rows; false if it has already finished. */
export async function endImport(
  db: Db,
  importId: string,
  end: Pick<ImportRow, "counts" | "errors" | "preview" | "version"> & { readonly status: "completed" | "failed" },
): Promise<boolean> {
  const ended = await db.any(
    `update eval_imports set status = $2::text, counts = $3::jsonb, errors = $4::jsonb, preview = $5::jsonb, version = $6::int,
        finished_at = now()
      where org_id = current_org() and import_id = $1::uuid and status in ('pending', 'running')`,
    [importId, end.status, jsonb(end.counts), jsonb(end.errors), jsonb(end.preview), end.version],
  );
  await forgetStaged(db, importId);
  return ended;
}

/** Longest time that applying an import may take (ms). */
const APPLY_TIMEOUT_MS = 600_000;

/**
 * Applies an import to the new version of its dataset, which the caller has locked. `append` adds rows whose external ID is not in use.
 * `upsert` also changes rows with the same external ID in the fields that the record has. `replace` gives these rows exactly the record's
 * fields, and removes all other rows.
 */
export async function applyImport(
  db: Db,
  { import_id, dataset_id, mode, mapping }: Pick<ImportRow, "import_id" | "dataset_id" | "mode" | "mapping">,
  version: number,
): Promise<Pick<ImportCounts, "created" | "updated" | "removed">> {
  await db.query(`set local statement_timeout = ${APPLY_TIMEOUT_MS}`);
  // A statement's own inserted rows are in the indexes but invisible: looking up each new row would take quadratic
  // time.
  await db.query("set local enable_nestloop = off");
  const counted = (text: string): Promise<number> =>
    db.count({ text, query_timeout: APPLY_TIMEOUT_MS }, [import_id, dataset_id, version]);
  const staged = "s.external_id, s.inputs, s.expected_outputs, s.metadata, s.split, s.tags";
  const content = staged.replaceAll("s.", "");
  let updated = 0;
  if (mode !== "append") {
    const whole = mode === "replace";
    // A mapping names fields of inputs, expected outputs and metadata; the other fields stay. Without a mapping, a record replaces these
    // objects as a whole.
    const parts = ROW_PARTS.map((part) => {
      const isMerged = mapping !== null && ["inputs", "expected_outputs", "metadata"].includes(part);
      const next = isMerged ? `r.${part} || s.${part}` : `s.${part}`;
      return whole ? `s.${part}` : `case when '${part}' = any (s.given) then ${next} else r.${part} end`;
    });
    // Records do not say whether a row is archived: an archived row stays archived, unless the import replaces all rows.
    const status = whole ? "'active'" : "r.status";
    const named = ROW_PARTS.map((part, i) => `${parts[i]} as next_${part}`).join(", ");
    updated = await counted(
      `with closed as (
        update eval_dataset_rows r set to_version = $3::int from eval_import_rows s
        where s.import_id = $1::uuid and r.dataset_id = $2::uuid and r.to_version is null and r.external_id = s.external_id
          and (${ROW_PARTS.map((part) => `r.${part}`).join(", ")}, r.status) is distinct from (${parts.join(", ")}, ${status})
        returning ${status} as next_status, r.row_id, r.org_id, case when s.source_run_id is null then r.source_type else 'run' end as source_type,
          coalesce(s.source_run_id, r.source_run_id) as source_run_id, r.created_at, r.external_id, ${named})
      insert into eval_dataset_rows (org_id, dataset_id, from_version, row_id, source_type, source_run_id, created_at, external_id,
          status, ${ROW_PARTS.join(", ")})
        select c.org_id, $2::uuid, $3::int, c.row_id, c.source_type, c.source_run_id, c.created_at, c.external_id,
          c.next_status, ${ROW_PARTS.map((part) => `c.next_${part}`).join(", ")}
        from closed c`,
    );
  }
  const created = await counted(
    `insert into eval_dataset_rows (org_id, dataset_id, from_version, row_id, source_type, source_run_id, ${content})
      select s.org_id, $2::uuid, $3::int, s.row_id, case when s.source_run_id is null then 'import' else 'run' end, s.source_run_id, ${staged}
      from eval_import_rows s where s.import_id = $1::uuid and not exists (
        select from eval_dataset_rows r where r.dataset_id = $2::uuid and r.to_version is null and r.external_id = s.external_id)`,
  );
  if (mode !== "replace") return { created, updated, removed: 0 };
  const removed = await counted(
    `update eval_dataset_rows r set to_version = $3::int
      where r.dataset_id = $2::uuid and r.to_version is null and r.from_version < $3::int and not exists (
        select from eval_import_rows s where s.import_id = $1::uuid and s.external_id = r.external_id)`,
  );
  return { created, updated, removed };
}
