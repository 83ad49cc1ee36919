import { ERASED } from "../../domain/erasures/erasure.ts";
import { BLOB_COLUMNS, BLOB_KEY_PATTERN, TABLES_OF_RUNS } from "../system/blob-sweep.ts";
import type { Db } from "../db.ts";
import { OPEN } from "../states.ts";
import { addRemoved, type ErasureId, type OpenErasure } from "./erasures.ts";

type ErasureOf = Pick<OpenErasure, "erasure_id" | "org_id" | "project_id" | "user_id" | "user_hash">;

/**
 * Notes up to `limit` runs of the user that are not noted yet, and as many runs that retention has purged, because data made from those may
 * remain. Returns how many. Call it in a transaction. System only.
 */
export async function findRunsOfUser(
  db: Db,
  { erasure_id, org_id, project_id, user_id, user_hash }: ErasureOf,
  limit: number,
): Promise<number> {
  const removed = await db.count(
    `with gone as (
        delete from removed_runs where user_hash = $3::text and run_id in (
          select run_id from removed_runs where org_id = $2::uuid and user_hash = $3::text
            and ($4::uuid is null or project_id = $4) order by run_id limit $5::int)
        returning run_id)
      insert into erasure_items (erasure_id, org_id, kind, item_id, has_history)
        select $1::uuid, $2, 'run', run_id, true from gone on conflict do nothing`,
    [erasure_id, org_id, user_hash, project_id, limit],
  );
  const found = await db.count(
    `insert into erasure_items (erasure_id, org_id, kind, item_id, has_history)
      select $1::uuid, $2::uuid, 'run', r.run_id, true from runs r
      where r.org_id = $2 and r.user_id = $3::text and ($4::uuid is null or r.project_id = $4)
        and not exists (select from erasure_items i where i.erasure_id = $1 and i.item_id = r.run_id)
      order by r.run_id desc limit $5::int
      on conflict do nothing`,
    [erasure_id, org_id, user_id, project_id, limit],
  );
  return removed + found;
}

/** Up to `limit` noted runs that still have to be erased, and whether they are unfinished. System only. */
export async function runsToErase(
  db: Db,
  erasureId: string,
  limit: number,
): Promise<Array<{ run_id: string; open: boolean }>> {
  return db.query(
    `select i.item_id as run_id, coalesce(r.state in (${OPEN}), false) as open
      from erasure_items i left join runs r on r.run_id = i.item_id and r.org_id = i.org_id
      where i.erasure_id = $1::uuid and i.kind = 'run' and not i.removed order by i.item_id limit $2::int`,
    [erasureId, limit],
  );
}

/** Data made from runs, as items; it must be found before the runs are deleted. */
const FROM_RUNS = `
  select 'run' as kind, r.run_id as item_id from runs r where r.org_id = $2 and r.parent_run_id = any ($3::uuid[])
  union select 'run', r.run_id from runs r where r.org_id = $2 and r.resumed_from is not null
    and r.resumed_from ->> 'run_id' = any ($3::uuid[]::text[])
  union select 'run', r.run_id from runs r where r.org_id = $2 and r.caused_by is not null and r.caused_by = any ($3::uuid[])
    and (r.user_id is null or r.user_id = $4::text)
  union select 'run', p.run_id from run_pins p where p.org_id = $2 and p.source_run_id = any ($3::uuid[])
  union select 'run', t.run_id from run_traces t where t.org_id = $2 and t.linked_run_id is not null and t.linked_run_id = any ($3::uuid[])
  union select 'run', f.run_id from trigger_firings f left join runs r on r.run_id = f.run_id
    where f.org_id = $2 and f.key = any ($3::uuid[]::text[]) and (r.user_id is null or r.user_id = $4::text)
  union select 'run', f.run_id from trigger_firings f left join runs r on r.run_id = f.run_id
    where f.org_id = $2 and f.root = any ($3::uuid[]::text[]) and (r.user_id is null or r.user_id = $4::text)
  union select 'run', f.run_id from trigger_firings f where f.org_id = $2 and f.repeat_of = any ($3::uuid[])
  union select 'score', s.score_id from scores s where s.org_id = $2 and s.run_id = any ($3::uuid[])
  union select 'dataset_row', d.row_id from eval_dataset_rows d where d.org_id = $2 and d.source_run_id is not null
    and d.source_run_id = any ($3::uuid[])
  union select 'dataset_row', d.row_id from eval_dataset_rows d where d.org_id = $2 and length(d.metadata ->> 'run_id') = 36
    and lower(d.metadata ->> 'run_id') = any ($3::uuid[]::text[])`;

/** Keys of blobs in the rows of runs. */
const BLOBS_OF_RUNS = BLOB_COLUMNS.filter(({ table }) => TABLES_OF_RUNS.includes(table))
  .map(
    ({ table, column }) =>
      `select found[1] as key from ${table} t cross join regexp_matches(t.${column}::text, '${BLOB_KEY_PATTERN}', 'g') found
        where t.run_id = any ($3::uuid[])`,
  )
  .join(" union ");

const GONE: Readonly<Record<string, string>> = {
  trigger_errors: `update triggers t set last_error = '${ERASED}' from trigger_firings f
    where f.org_id = $1::uuid and f.run_id = any ($2::uuid[]) and t.id = f.trigger_id and t.last_error = f.error`,
  conversation_turns: "delete from conversation_turns where org_id = $1::uuid and run_id = any ($2::uuid[])",
  trigger_firings: "delete from trigger_firings where org_id = $1::uuid and run_id = any ($2::uuid[])",
  monitor_scores: `delete from eval_monitor_scores s using eval_monitor_runs m
    where m.org_id = $1::uuid and m.run_id = any ($2::uuid[]) and s.monitor_id = m.monitor_id and s.run_id = m.run_id`,
  import_rows:
    "delete from eval_import_rows where org_id = $1::uuid and source_run_id is not null and source_run_id = any ($2::uuid[])",
  run_pins: "delete from run_pins where org_id = $1::uuid and run_id = any ($2::uuid[])",
  run_texts: "delete from run_deltas where org_id = $1::uuid and run_id = any ($2::uuid[])",
  // Rows with a foreign key to runs would be deleted with them; they are deleted here to count them by store.
  scores: "delete from scores where org_id = $1::uuid and run_id = any ($2::uuid[])",
  pauses: "delete from run_pauses where org_id = $1::uuid and run_id = any ($2::uuid[])",
  run_events: "delete from run_events where org_id = $1::uuid and run_id = any ($2::uuid[])",
  node_runs: "delete from node_runs where org_id = $1::uuid and run_id = any ($2::uuid[])",
  runs: "delete from runs where org_id = $1::uuid and run_id = any ($2::uuid[])",
};

/**
 * Erases finished runs with all their records, and notes what was made from them as items of the erasure. Unfinished runs stay. Call it in
 * a transaction. System only.
 */
export async function eraseRuns(db: Db, erasure: ErasureOf, runIds: readonly string[]): Promise<number> {
  const { erasure_id, org_id, user_id } = erasure;
  const open = await db.column<string>(
    `with locked as materialized (
        select run_id, state from runs where org_id = $1::uuid and run_id = any ($2::uuid[]) order by run_id for update)
      select run_id from locked where state in (${OPEN})`,
    [org_id, runIds],
  );
  const stay = new Set(open);
  const ids = runIds.filter((id) => !stay.has(id));
  if (ids.length === 0) return 0;
  await db.query(
    `insert into erasure_items (erasure_id, org_id, kind, item_id, has_history)
      select $1::uuid, $2::uuid, kind, item_id, kind = 'run' from (${FROM_RUNS}) found on conflict do nothing`,
    [erasure_id, org_id, ids, user_id],
  );
  await db.query(
    `insert into erasure_blobs (erasure_id, org_id, key) select $1::uuid, $2::uuid, key from (${BLOBS_OF_RUNS}) found
      on conflict do nothing`,
    [erasure_id, org_id, ids],
  );
  const removed: Record<string, number> = {};
  for (const [store, statement] of Object.entries(GONE)) removed[store] = await db.count(statement, [org_id, ids]);
  await markRemoved(db, erasure_id, ids);
  await addRemoved(db, erasure_id, removed);
  return ids.length;
}

/** Records that items have been erased. */
async function markRemoved(db: Db, erasureId: string, ids: readonly string[]): Promise<void> {
  await db.query("update erasure_items set removed = true where erasure_id = $1::uuid and item_id = any ($2::uuid[])", [
    erasureId,
    ids,
  ]);
}

/**
 * Removes up to `limit` dataset rows made from the user's runs, in all versions of their datasets, with their results
 * in experiments; notes the runs of these. Call it in a transaction. System only.
 */
export async function eraseDatasetRows(db: Db, { erasure_id, org_id }: ErasureOf, limit: number): Promise<number> {
  const ids = await db.column<string>(
    `select item_id from erasure_items where erasure_id = $1::uuid and kind = 'dataset_row' and not removed
      order by item_id limit $2::int`,
    [erasure_id, limit],
  );
  if (ids.length === 0) return 0;
  const datasets = await db.column<string>(
    `select dataset_id from eval_datasets where dataset_id in (
        select dataset_id from eval_dataset_rows where org_id = $1::uuid and row_id = any ($2::uuid[]))
      order by dataset_id for update`,
    [org_id, ids],
  );
  // Jobs have files of results, and Temporal has the rows as inputs of their runs. A row of an experiment names only
  // its newest run and goes with a deleted experiment; but every run names the row of the dataset.
  await db.query(
    `insert into erasure_items (erasure_id, org_id, kind, item_id, has_history)
      select $1::uuid, $2::uuid, 'run', x.run_id, true from experiments e join experiment_rows x using (experiment_id)
        where e.dataset_id = any ($4::uuid[]) and x.row_id = any ($3::uuid[]) and x.run_id is not null
      union select $1, $2, 'run', r.run_id, true from runs r
        where r.org_id = $2 and r.run_type = 'batch' and r.metadata ->> 'row_id' = any ($3::uuid[]::text[])
      union select $1, $2, 'experiment_job', j.job_id, true from experiments e join experiment_jobs j using (experiment_id)
        where e.dataset_id = any ($4) and exists (
          select from experiment_rows x where x.experiment_id = e.experiment_id and x.row_id = any ($3))
      on conflict do nothing`,
    [erasure_id, org_id, ids, datasets],
  );
  const removed = {
    experiment_rows: await db.count(
      `delete from experiment_rows x using experiments e where e.dataset_id = any ($1::uuid[])
        and x.experiment_id = e.experiment_id and x.row_id = any ($2::uuid[])`,
      [datasets, ids],
    ),
    dataset_rows: await db.count(
      "delete from eval_dataset_rows where dataset_id = any ($1::uuid[]) and row_id = any ($2::uuid[])",
      [datasets, ids],
    ),
  };
  await db.query(
    `update eval_datasets d set updated_at = now(), row_count = (
        select count(*) from eval_dataset_rows r where r.dataset_id = d.dataset_id and r.to_version is null)
      where dataset_id = any ($1::uuid[])`,
    [datasets],
  );
  await markRemoved(db, erasure_id, ids);
  await addRemoved(db, erasure_id, removed);
  return ids.length;
}

/** Removes the result files from the jobs of experiments with such rows; they can be exported again. In a transaction. System only. */
export async function eraseExports(db: Db, erasure: ErasureId): Promise<number> {
  const { erasure_id } = erasure;
  const files = await db.pairs<string, string>(
    `select j.job_id, j.blob_key from erasure_items i join experiment_jobs j on j.job_id = i.item_id
      where i.erasure_id = $1::uuid and i.kind = 'experiment_job' and j.blob_key is not null for update of j`,
    [erasure_id],
  );
  if (files.size === 0) return 0;
  await keepBlobs(db, erasure, [...files.values()]);
  await db.query("update experiment_jobs set blob_key = null where job_id = any ($1::uuid[])", [[...files.keys()]]);
  await addRemoved(db, erasure_id, { exports: files.size });
  return files.size;
}

/** Notes blobs that rows no longer refer to. */
export async function keepBlobs(db: Db, { erasure_id, org_id }: ErasureId, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await db.query(
    `insert into erasure_blobs (erasure_id, org_id, key) select $1::uuid, $2::uuid, key from unnest($3::text[]) as key
      on conflict do nothing`,
    [erasure_id, org_id, keys],
  );
}
