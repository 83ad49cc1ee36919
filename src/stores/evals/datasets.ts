import type { JsonObject } from "../../domain/json.ts";
import { columns, type Changes, type NameOf, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";

const ROW = columns(`dataset_id uuid, org_id uuid, name text, description text, project_id uuid null,
  input_schema jsonb null, metadata jsonb, tags text[], version int, row_count int, revision int,
  created_at timestamptz, updated_at timestamptz`);

export interface DatasetRow extends RowOf<typeof ROW> {
  readonly input_schema: JsonObject | null;
  readonly metadata: JsonObject;
}

const CHANGEABLE = `name text, description text, project_id uuid null, input_schema jsonb null, metadata jsonb, tags text[]`;
const CHANGED = columns(CHANGEABLE);
const GIVEN = columns(`dataset_id uuid, org_id uuid, ${CHANGEABLE}`);

export type NewDataset = Pick<DatasetRow, NameOf<typeof GIVEN>>;
export type DatasetChange = Changes<Pick<DatasetRow, NameOf<typeof CHANGED>>>;

const COLUMNS = ROW.select();
const ONE = "org_id = current_org() and dataset_id = $1::uuid and deleted_at is null";

/** Inserts a dataset; false if the id exists (the same request, retried). */
export async function insertDataset(db: Db, dataset: NewDataset): Promise<boolean> {
  return db.any(`insert into eval_datasets ${GIVEN.into} on conflict (dataset_id) do nothing`, GIVEN.values(dataset));
}

/** One dataset, or null; `lock` also locks its rows until the transaction ends. */
export async function findDataset(db: Db, datasetId: string, lock = false): Promise<DatasetRow | null> {
  return db.first(`select ${COLUMNS} from eval_datasets where ${ONE} ${lock ? "for update" : ""}`, [datasetId]);
}

export interface DatasetSearch {
  readonly project_id: string | null;
  readonly tag: string | null;
}

/** A page of the organisation's datasets. */
export async function listDatasets(db: Db, search: DatasetSearch, page: Keyset): Promise<DatasetRow[]> {
  const select = `select ${COLUMNS} from eval_datasets where org_id = current_org() and deleted_at is null
    and ($1::uuid is null or project_id = $1) and ($2::text is null or $2 = any (tags))`;
  return selectPage(db, page, "dataset_id", select, [search.project_id, search.tag]);
}

/** Changes a dataset that the caller has locked. */
export async function updateDataset(db: Db, datasetId: string, change: DatasetChange): Promise<DatasetRow | null> {
  return db.first(
    `update eval_datasets set ${CHANGED.patch(2)}, revision = revision + 1, updated_at = now() where ${ONE} returning ${COLUMNS}`,
    [datasetId, ...CHANGED.given(change)],
  );
}

/**
 * Starts and returns the next version of a dataset, with `added` more rows. Locks its rows until the transaction ends.
 * Null for a missing dataset.
 */
export async function nextVersion(db: Db, datasetId: string, added: number): Promise<number | null> {
  return db.value(
    `update eval_datasets set version = version + 1, row_count = row_count + $2::int, updated_at = now()
      where ${ONE} returning version`,
    [datasetId, added],
  );
}

/** Counts the current rows of a dataset again. */
export async function setRowCount(db: Db, datasetId: string): Promise<void> {
  await db.query(
    `update eval_datasets d set row_count = (select count(*) from eval_dataset_rows r
        where r.dataset_id = d.dataset_id and r.to_version is null)
      where org_id = current_org() and dataset_id = $1::uuid`,
    [datasetId],
  );
}

/** Deletes a dataset for all later requests. False if there is none. */
export async function markDatasetDeleted(db: Db, datasetId: string): Promise<boolean> {
  return db.any(`update eval_datasets set deleted_at = now() where ${ONE}`, [datasetId]);
}

/** Removes rows of deleted datasets, `limit` at most, and datasets without rows. Returns how many rows there were. */
export async function purgeDatasets(db: Db, limit: number): Promise<number> {
  const removed = await db.count(
    `delete from eval_dataset_rows where (row_id, from_version) in (
      select r.row_id, r.from_version from eval_datasets d join eval_dataset_rows r using (dataset_id)
      where d.deleted_at is not null limit $1::int)`,
    [limit],
  );
  if (removed < limit) {
    // Deleted experiments are removed first, because they refer to it.
    const gone = `select d.dataset_id from eval_datasets d where d.deleted_at is not null
      and not exists (select from eval_dataset_rows r where r.dataset_id = d.dataset_id)
      and not exists (select from experiments e where e.dataset_id = d.dataset_id)`;
    await db.query(`with imports as (delete from eval_imports where dataset_id in (${gone}) and status in ('completed', 'failed'))
      delete from eval_datasets where dataset_id in (${gone})
        and not exists (select from eval_imports i where i.dataset_id = eval_datasets.dataset_id)`);
  }
  return removed;
}
