import type { Db } from "../db.ts";
import { OPEN } from "../states.ts";

/** A column that contains keys of blobs, plain or within JSON. */
export interface BlobColumn {
  readonly table: string;
  readonly column: string;
  /** SQL condition for the rows whose blobs must exist. Other rows may name a blob that was removed after its use. */
  readonly needed?: string;
}

/** Every column that refers to blobs. The sweep removes blobs that none of them names, so a new column needs a line here. */
export const BLOB_COLUMNS: readonly BlobColumn[] = [
  { table: "runs", column: "inputs" },
  { table: "runs", column: "outputs" },
  { table: "runs", column: "start_input" },
  { table: "run_checkpoints", column: "nodes" },
  { table: "node_runs", column: "long_values" },
  { table: "agent_steps", column: "answer" },
  { table: "documents", column: "blob_key" },
  { table: "documents", column: "text_value" },
  { table: "idempotency_keys", column: "response" },
  { table: "knowledge_resources", column: "blob_key" },
  { table: "knowledge_resources", column: "text_blob_key" },
  { table: "skill_versions", column: "blob_key" },
  { table: "eval_imports", column: "source", needed: "status in ('pending', 'running')" },
  { table: "experiment_jobs", column: "blob_key" },
  { table: "action_runs", column: "inputs" },
  { table: "action_runs", column: "outputs" },
];

/** The columns of tables with rows of runs; each of these tables has a `run_id`. */
export const TABLES_OF_RUNS: readonly string[] = ["runs", "run_checkpoints", "node_runs", "agent_steps"];

/** The form of a blob's key anywhere in a text. Other text of this form only causes a blob to be kept. */
export const BLOB_KEY_PATTERN = "[0-9a-f]{8}-[0-9a-f-]{27}/[0-9a-f]{8}-[0-9a-f-]{27}";

/** Whether the database is younger than a day: a backup may be about to be restored, whose blobs are stored already. */
export async function isNewDatabase(db: Db): Promise<boolean> {
  return db.any("select from migrations having min(applied_at) > now() - interval '1 day'");
}

/**
 * Lets `work` compare blobs with rows on one connection, with a temporary table for the blobs. Listing and removing blobs may take hours,
 * so no transaction stays open: it would keep Postgres from removing dead rows of every table.
 */
export async function withComparison<T>(db: Db, work: () => Promise<T>): Promise<T> {
  await db.query("drop table if exists pg_temp.unreferenced");
  await db.query(
    "create temp table unreferenced (key text primary key, org_id uuid not null, made_at timestamptz not null)",
  );
  try {
    return await work();
  } finally {
    // A lost connection has dropped the table.
    await db.query("drop table if exists pg_temp.unreferenced").catch(() => undefined);
  }
}

/**
 * Compares in a transaction with one snapshot of all tables, so that a row changed meanwhile is neither missed nor
 * seen twice. It only reads tables.
 */
export async function inOneState(db: Db, compare: () => Promise<void>): Promise<void> {
  await db.query("begin isolation level repeatable read");
  try {
    await compare();
    await db.query("commit");
  } catch (error) {
    await db.query("rollback").catch(() => undefined);
    throw error;
  }
}

/** Adds blobs to the comparison. */
export async function addBlobs(
  db: Db,
  blobs: ReadonlyArray<{ key: string; org_id: string; made_at: Date }>,
): Promise<void> {
  await db.query(
    `insert into unreferenced select * from unnest($1::text[], $2::uuid[], $3::timestamptz[]) on conflict do nothing`,
    [blobs.map(({ key }) => key), blobs.map(({ org_id }) => org_id), blobs.map(({ made_at }) => made_at)],
  );
}

/**
 * Keeps blobs that an unfinished run may have made, because its workflow holds references that are in no row. Older blobs that it uses are
 * in its inputs, in documents and in the checkpoint of the run that it resumes. `marginMs` allows for differing clocks.
 */
export async function keepOfOpenRuns(db: Db, marginMs: number): Promise<void> {
  await db.query(
    `delete from unreferenced u using (
        select org_id, min(created_at) as since from runs
        where state in (${OPEN}) group by org_id) open
      where u.org_id = open.org_id and u.made_at >= open.since - make_interval(secs => $1::float8 / 1000)`,
    [marginMs],
  );
}

/** A table with a column, or one of its partitions, with its length in blocks. */
export interface ColumnPart extends BlobColumn {
  readonly blocks: number;
}

/** The tables and partitions with a column. None of them is dropped until the transaction ends. */
export async function partsOf(db: Db, { table, column }: BlobColumn): Promise<ColumnPart[]> {
  await db.query(`lock table ${table} in access share mode`);
  return db.query(
    `select c.oid::regclass::text as "table", $2::text as "column",
        (pg_relation_size(c.oid) / current_setting('block_size')::int)::int as blocks
      from pg_class c where c.relkind = 'r' and (c.oid = $1::regclass or c.oid in (
        select relid from pg_partition_tree($1::regclass)))`,
    [table, column],
  );
}

/**
 * Keeps the blobs that a column refers to in `count` blocks of its table, starting at block `first`; without `count`, to the end of the
 * table. With `orgId`, only rows of that organisation are read.
 */
export async function keepReferenced(
  db: Db,
  column: BlobColumn,
  {
    first,
    count,
    orgId,
  }: { readonly first: number; readonly count: number | undefined; readonly orgId: string | null },
): Promise<void> {
  const end = count === undefined ? "" : `and ctid < '(${first + count},0)'::tid`;
  const own = orgId === null ? "" : "and org_id = $2::uuid";
  await keepIn(db, column, `ctid >= '(${first},0)'::tid ${end} ${own}`, orgId === null ? [] : [orgId]);
}

/**
 * Keeps the blobs that rows of an organisation's runs refer to, for run IDs after `after` up to `last`. Uses an index, because other
 * organisations may have far more rows.
 */
export async function keepReferencedOfRuns(
  db: Db,
  column: BlobColumn,
  { orgId, after, last }: { readonly orgId: string; readonly after: string; readonly last: string },
): Promise<void> {
  // These bounds exclude partitions of other times.
  const bounds = "run_id > $3::uuid and run_id <= $4::uuid";
  const own = `org_id = $2::uuid and ${bounds}`;
  const rows =
    column.table === "runs" ? own : `${bounds} and run_id = any (array(select run_id from runs where ${own}))`;
  await keepIn(db, column, rows, [orgId, after, last]);
}

/** The last of an organisation's next `limit` runs; null if there are no more. */
export async function lastOfNextRuns(db: Db, orgId: string, after: string, limit: number): Promise<string | null> {
  return db.value(
    `select run_id from (select run_id from runs where org_id = $1::uuid and run_id > $2::uuid order by run_id limit $3::int) page
      order by run_id desc limit 1`,
    [orgId, after, limit],
  );
}

async function keepIn(db: Db, { table, column }: BlobColumn, rows: string, values: readonly unknown[]): Promise<void> {
  await db.query(
    `delete from unreferenced u using (
        select distinct found[1] as key from (select ${column}::text as content from ${table} where ${rows}) part
        cross join regexp_matches(content, $1::text, 'g') found) r
      where u.key = r.key`,
    [BLOB_KEY_PATTERN, ...values],
  );
}

/** SQL that returns, without duplicates, everything in a column that looks like a key of a needed blob. */
export function keysIn({ table, column, needed = "true" }: BlobColumn): string {
  return `select distinct found[1] from (select ${column}::text as content from ${table} where ${needed}) part
    cross join regexp_matches(content, '${BLOB_KEY_PATTERN}', 'g') found`;
}

/** Takes up to `limit` of the remaining blobs, to which nothing refers. */
export async function takeUnreferenced(db: Db, limit: number): Promise<string[]> {
  return db.column("delete from unreferenced where key in (select key from unreferenced limit $1::int) returning key", [
    limit,
  ]);
}
