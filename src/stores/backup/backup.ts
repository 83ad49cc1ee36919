import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Client } from "pg";
import { from, to } from "pg-copy-streams";
import { BLOB_COLUMNS, keysIn } from "../system/blob-sweep.ts";
import { asDb } from "../statements.ts";
import type { Db } from "../db.ts";
import { quoted } from "../identifiers.ts";
import { withOwnConnection } from "../own-connection.ts";
import { masterKeyIds } from "../secrets/sealed.ts";

/** A table in a backup. */
export interface TableColumns {
  readonly name: string;
  /** Computed columns are omitted. */
  readonly columns: readonly string[];
}

/** All tables as of one moment. */
export interface Snapshot {
  readonly taken_at: string;
  readonly server: string;
  readonly migrations: readonly string[];
  readonly sequences: Readonly<Record<string, number>>;
  /** IDs of the master keys that sealed something in the backup. */
  readonly master_keys: readonly string[];
  readonly tables: readonly TableColumns[];
  /** Rows of a table, one a line. Read them to the end before the next table. */
  rows(table: TableColumns): Readable;
  /** Strings in rows that may be keys of blobs, one per line. Some repeat, and some only look like keys. */
  blobKeys(): AsyncIterable<Buffer>;
}

/** Copies of vectors for HNSW indexes, which no migration makes. Workers rebuild both where pgvector is available. */
export const MADE_ANEW = "knowledge_vectors";

/**
 * The tables in the first schema of the search path, except MADE_ANEW and the `migrations` table, which `migrate` fills. A partitioned
 * table counts as one table.
 */
const TABLES = `
  select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  where c.relnamespace = (select relnamespace from pg_class where oid = to_regclass('runs'))
    and c.relkind in ('r', 'p') and not c.relispartition and c.relname not in ('migrations', '${MADE_ANEW}')
  group by c.relname order by c.relname`;

/** Lets `work` read all tables as of one moment while others write. System only. */
export async function withSnapshot<T>(url: string, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return withClient(url, "millrace-backup", async (client) => {
    await client.query("begin isolation level repeatable read, read only");
    const db = asDb(client);
    const { taken_at, server } = await db.one<{ taken_at: Date; server: string }>(
      "select now() as taken_at, current_setting('server_version') as server",
    );
    const migrations = await db.column<string>("select name from migrations order by name");
    const tables = await db.query<{ name: string; columns: string[] }>(TABLES);
    const sequences = await db.pairs<string, string>(
      `select sequencename, last_value from pg_sequences
        where schemaname = current_schema() and last_value is not null order by 1`,
    );
    return work({
      taken_at: taken_at.toISOString(),
      server,
      migrations,
      sequences: Object.fromEntries([...sequences].map(([name, last]) => [name, Number(last)])),
      master_keys: await masterKeyIds(db),
      tables,
      rows: (table) => client.query(to(`copy (select ${listed(table)} from ${quoted(table.name)}) to stdout`)),
      async *blobKeys() {
        for (const column of BLOB_COLUMNS) yield* client.query(to(`copy (${keysIn(column)}) to stdout`));
      },
    });
  });
}

/** The first table with rows; undefined if the database is empty. System only. */
export async function findOccupied(url: string): Promise<string | undefined> {
  return withClient(url, "millrace-restore", async (client) => {
    const db = asDb(client);
    for (const { name } of await db.query<TableColumns>(TABLES)) {
      const occupied = await db.value<boolean>(`select exists (select from ${quoted(name)}) as occupied`);
      if (occupied === true) return name;
    }
    return undefined;
  });
}

/**
 * Fills the empty tables of a database: all of them, or none if anything fails. `load` passes the rows of each table to `copy`, which
 * returns how many the server accepted. System only.
 */
export async function fillTables(
  url: string,
  sequences: Readonly<Record<string, number>>,
  load: (copy: (table: TableColumns, rows: AsyncIterable<Buffer>) => Promise<number>) => Promise<void>,
): Promise<void> {
  await withClient(url, "millrace-restore", async (client) => {
    const db = asDb(client);
    await client.query("begin");
    const names = (await db.query<TableColumns>(TABLES)).map(({ name }) => quoted(name));
    await client.query(`lock table ${names.join(", ")} in access exclusive mode`);
    // A table may come before one that it refers to, and the restored rows must not fire triggers.
    const references = await referencesOf(db);
    for (const { drop } of references) await client.query(drop);
    for (const name of names) await client.query(`alter table ${name} disable trigger user`);
    await load(async (table, rows) => {
      const copying = client.query(from(`copy ${columnsOf(table)} from stdin`));
      await pipeline(rows, copying);
      return copying.rowCount;
    });
    for (const name of names) await client.query(`alter table ${name} enable trigger user`);
    for (const { add } of references) await client.query(add);
    for (const [name, last] of Object.entries(sequences))
      await client.query("select setval($1::text::regclass, $2::bigint)", [quoted(name), last]);
    await client.query("update knowledge_indexes set has_hnsw = false where has_hnsw");
    await client.query("commit");
    await client.query("analyze");
  });
}

/** Drops the foreign keys and creates them again; the latter checks every row. */
async function referencesOf(db: Db): Promise<Array<{ readonly drop: string; readonly add: string }>> {
  const rows = await db.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as "table", conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
      where contype = 'f' and conparentid = 0 and connamespace = (select relnamespace from pg_class where oid = to_regclass('runs'))`,
  );
  return rows.map(({ table, name, definition }) => ({
    drop: `alter table ${table} drop constraint ${quoted(name)}`,
    add: `alter table ${table} add constraint ${quoted(name)} ${definition}`,
  }));
}

function columnsOf(table: TableColumns): string {
  return `${quoted(table.name)} (${listed(table)})`;
}

function listed({ columns }: TableColumns): string {
  return columns.map(quoted).join(", ");
}

/** A connection without time limits, since a table may take hours. */
function withClient<T>(url: string, application_name: string, work: (client: Client) => Promise<T>): Promise<T> {
  const options =
    "-c statement_timeout=0 -c idle_in_transaction_session_timeout=0 -c DateStyle=ISO,YMD -c IntervalStyle=postgres";
  return withOwnConnection(url, { application_name, options }, work);
}
