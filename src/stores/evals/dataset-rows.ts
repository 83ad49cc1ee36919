import type { NewRow, RowContent, RowStatus } from "../../domain/evals/dataset.ts";
import { columns } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { selectPage, type Keyset } from "../keyset.ts";

/** The state of a row from one version of its dataset on. */
export interface DatasetRowRow extends NewRow {
  readonly dataset_id: string;
  readonly from_version: number;
  readonly status: RowStatus;
  readonly created_at: string;
  readonly updated_at: string;
}

const CONTENT = "external_id, inputs, expected_outputs, metadata, split, tags";
const STATE = columns(`org_id uuid, dataset_id uuid, from_version int, row_id uuid, source_type text,
  source_run_id uuid, created_at timestamptz, external_id text, inputs jsonb, expected_outputs jsonb, metadata jsonb,
  split text, tags text[], status text`);
const COLUMNS = `row_id, dataset_id, from_version, ${CONTENT}, source_type, source_run_id, status, created_at, updated_at`;
/** Rows of the version in the second parameter; null means the current version. */
const AT_VERSION = `org_id = current_org() and dataset_id = $1::uuid
  and case when $2::int is null then to_version is null else from_version <= $2 and (to_version is null or to_version > $2) end`;
const PRESENT = "org_id = current_org() and dataset_id = $1::uuid and row_id = $2::uuid and to_version is null";

/** Adds rows to the version that starts with them. Throws the unique violation of `eval_dataset_rows_external_key`. */
export async function insertRows(
  db: Db,
  orgId: string,
  datasetId: string,
  version: number,
  rows: readonly NewRow[],
): Promise<void> {
  await db.query(
    `insert into eval_dataset_rows (org_id, dataset_id, from_version, row_id, ${CONTENT}, source_type, source_run_id)
      select $1::uuid, $2::uuid, $3::int, r.row_id, r.external_id, r.inputs, r.expected_outputs, r.metadata, r.split,
        array(select jsonb_array_elements_text(r.tags)), r.source_type, r.source_run_id
      from jsonb_to_recordset($4::jsonb) r(row_id uuid, external_id text, inputs jsonb, expected_outputs jsonb, metadata jsonb,
        split text, tags jsonb, source_type text, source_run_id uuid)`,
    [orgId, datasetId, version, jsonb(rows)],
  );
}

/** Locks runs against deletion until the end of the transaction. Returns the IDs of the runs that exist. */
export async function lockRunsOfRows(db: Db, runIds: readonly string[]): Promise<string[]> {
  return db.column(
    "select run_id from runs where org_id = current_org() and run_id = any ($1::uuid[]) order by run_id for key share",
    [runIds],
  );
}

/** The current state of a row, or its state at `version`; null if there is none. */
export async function findRow(
  db: Db,
  datasetId: string,
  rowId: string,
  version: number | null,
): Promise<DatasetRowRow | null> {
  return db.first(`select ${COLUMNS} from eval_dataset_rows where ${AT_VERSION} and row_id = $3::uuid`, [
    datasetId,
    version,
    rowId,
  ]);
}

/** The current state of a row of any existing dataset; null if there is none. */
export async function findRowAnywhere(db: Db, rowId: string): Promise<DatasetRowRow | null> {
  return db.first(
    `select ${COLUMNS} from eval_dataset_rows r where org_id = current_org() and row_id = $1::uuid and to_version is null
      and exists (select from eval_datasets d where d.dataset_id = r.dataset_id and d.deleted_at is null)`,
    [rowId],
  );
}

export interface RowSearch {
  readonly version: number | null;
  readonly split: string | null;
  readonly tag: string | null;
  readonly status: RowStatus | null;
  readonly external_id: string | null;
}

/** A page of the rows of a dataset's version. */
export async function listRows(db: Db, datasetId: string, search: RowSearch, page: Keyset): Promise<DatasetRowRow[]> {
  const select = `select ${COLUMNS} from eval_dataset_rows where ${AT_VERSION} and ($3::text is null or split = $3)
    and ($4::text is null or $4 = any (tags)) and ($5::text is null or status = $5)
    and ($6::text is null or external_id = $6)`;
  return selectPage(db, page, "row_id", select, [
    datasetId,
    search.version,
    search.split,
    search.tag,
    search.status,
    search.external_id,
  ]);
}

/** Ends the current state of a row at the version that starts now; false if the row does not exist. */
export async function closeRow(db: Db, datasetId: string, rowId: string, version: number): Promise<boolean> {
  return db.any(`update eval_dataset_rows set to_version = $3::int where ${PRESENT}`, [datasetId, rowId, version]);
}

/** Adds the state of a row from `version` on. Throws the unique violation of `eval_dataset_rows_external_key`. */
export async function reviseRow(
  db: Db,
  orgId: string,
  row: DatasetRowRow,
  version: number,
  change: RowContent & { readonly status: RowStatus },
): Promise<DatasetRowRow> {
  const state = { ...row, ...change, org_id: orgId, from_version: version };
  return db.one(`insert into eval_dataset_rows ${STATE.into} returning ${COLUMNS}`, STATE.values(state));
}

/** Copies the rows of an earlier version into the new one, which the caller has locked. False if they are equal. */
export async function restoreRows(db: Db, datasetId: string, version: number, next: number): Promise<boolean> {
  const content = (row: string): string => `${CONTENT}, status`.replaceAll(/[a-z_]+/g, `${row}.$&`);
  const then = "t.dataset_id = $1::uuid and t.from_version <= $2::int and (t.to_version is null or t.to_version > $2)";
  const closed = await db.count(
    `update eval_dataset_rows r set to_version = $3::int
      where org_id = current_org() and dataset_id = $1::uuid and to_version is null and not exists (
        select from eval_dataset_rows t where t.row_id = r.row_id and ${then} and (${content("t")}) is not distinct from (${content("r")}))`,
    [datasetId, version, next],
  );
  const restored = await db.count(
    `insert into eval_dataset_rows (org_id, dataset_id, from_version, row_id, source_type, source_run_id, created_at, ${CONTENT}, status)
      select org_id, dataset_id, $3::int, row_id, source_type, source_run_id, created_at, ${CONTENT}, status
      from eval_dataset_rows t where org_id = current_org() and ${then} and not exists (
        select from eval_dataset_rows r where r.row_id = t.row_id and r.dataset_id = $1::uuid and r.to_version is null)`,
    [datasetId, version, next],
  );
  return closed + restored > 0;
}

/** The nodes and metadata fields that the rows of a version name, at most `limit`: the columns of a table of the rows. */
export async function rowColumns(
  db: Db,
  datasetId: string,
  version: number | null,
  limit: number,
): Promise<Array<{ part: "inputs" | "expected_outputs" | "metadata"; name: string }>> {
  return db.query(
    `select distinct p.part, k.name from eval_dataset_rows r
      cross join lateral (values ('inputs', r.inputs), ('expected_outputs', r.expected_outputs), ('metadata', r.metadata)) p(part, value)
      cross join lateral jsonb_object_keys(p.value) k(name)
      where ${AT_VERSION} order by 1, 2 limit $3::int`,
    [datasetId, version, limit],
  );
}
