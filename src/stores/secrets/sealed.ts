import type { Db } from "../db.ts";
import { keysetSql } from "../keyset.ts";

/** A table with sealed columns. All fields are SQL from our own code. */
export interface SealedTable {
  readonly table: string;
  readonly id: string;
  /** Sealed columns, each with the column named in its seal's context: a value that moves between two columns keeps its seal. */
  readonly columns: Readonly<Record<string, string>>;
  /** Condition for rows that still have sealed values. */
  readonly where: string;
  /** Removes expired rows. */
  readonly expire?: string;
}

/**
 * Every column sealed under the master key. Sealed values in a column that is not listed are lost when an earlier master key is removed.
 */
export const SEALED_TABLES = [
  {
    table: "webhook_subscriptions",
    id: "subscription_id",
    columns: { secret: "secret", previous_secret: "secret", headers: "headers" },
    // Deleted rows keep no secrets.
    where: "deleted_at is null",
    expire: `update webhook_subscriptions set previous_secret = null where subscription_id in (
      select subscription_id from webhook_subscriptions where previous_secret is not null and previous_secret_until <= now()
      -- In the order in which the relay locks them: two that wait for each other would be a circle.
      order by subscription_id for no key update)`,
  },
  { table: "evaluators", id: "evaluator_id", columns: { secret: "secret" }, where: "secret is not null" },
  { table: "triggers", id: "id", columns: { secret: "secret" }, where: "secret is not null" },
  { table: "connections", id: "connection_id", columns: { credential: "credential" }, where: "true" },
  { table: "pages", id: "page_id", columns: { token: "token" }, where: "true" },
  { table: "sessions", id: "session_id", columns: { id_token: "id_token" }, where: "id_token is not null" },
  { table: "data_keys", id: "key_id", columns: { sealed: "key" }, where: "true" },
] as const satisfies readonly SealedTable[];

type Sealed = (typeof SEALED_TABLES)[number];
type ColumnOf<Each> = Each extends { readonly columns: infer Columns } ? Columns[keyof Columns] & string : never;

/** Binds a sealed value to its row and column: it cannot be opened for another one. Only SEALED_TABLES have sealed values. */
export function secretContext<Table extends Sealed["table"]>(
  table: Table,
  id: string,
  column: ColumnOf<Extract<Sealed, { readonly table: Table }>>,
): string {
  return `${table}/${id}/${column}`;
}

/**
 * The IDs of the master keys that sealed something, in hexadecimal: the four bytes after the version. Skips columns that the schema does
 * not have yet, because the new version also makes the backup before an upgrade. System only.
 */
export async function masterKeyIds(db: Db): Promise<string[]> {
  const known = await db.column<string>(
    `select t.name || '.' || a.attname as "column" from unnest($1::text[]) as t (name)
      join pg_attribute a on a.attrelid = to_regclass(t.name) and a.attnum > 0 and not a.attisdropped`,
    [SEALED_TABLES.map(({ table }) => table)],
  );
  const there = new Set(known);
  const columns = SEALED_TABLES.flatMap(({ table, columns: all, where }) =>
    Object.keys(all)
      .filter((column) => there.has(`${table}.${column}`))
      .map((column) => `select substring(${column} from 2 for 4) as id from ${table} where ${where}`),
  );
  return db.column(
    `select distinct encode(id, 'hex') as id from (${columns.join(" union all ")}) sealed where id is not null order by 1`,
  );
}

/** A row's sealed values, by column. */
export interface SealedRow {
  readonly id: string;
  readonly sealed: Readonly<Record<string, Buffer | null>>;
}

/** Removes expired rows. System only. */
export async function expireSealed(db: Db, { expire }: SealedTable): Promise<void> {
  if (expire !== undefined) await db.query(expire);
}

/** Up to `limit` rows of all organisations after `beyond`, locked until the transaction ends. System only. */
export async function lockSealed(
  db: Db,
  { table, id, columns, where }: SealedTable,
  beyond: string | null,
  limit: number,
): Promise<SealedRow[]> {
  const { bound, compare, order } = keysetSql({ beyond, ascending: true, limit });
  const names = Object.keys(columns);
  const rows = await db.query<Record<string, Buffer | null> & { row_id: string }>(
    `select ${id} as row_id, ${names.join(", ")} from ${table} where ${where} and ${id} ${compare} $1::uuid
      order by ${id} ${order} limit $2::int for no key update`,
    [bound, limit],
  );
  return rows.map(({ row_id, ...sealed }) => ({ id: row_id, sealed }));
}

/** Writes re-sealed rows back, in the transaction that locked them. The revision stays, because readers see no change. System only. */
export async function replaceSealed(
  db: Db,
  { table, id, columns }: SealedTable,
  rows: readonly SealedRow[],
): Promise<void> {
  const names = Object.keys(columns);
  await db.query(
    `update ${table} t set ${names.map((name) => `${name} = fresh.${name}`).join(", ")}
      from unnest($1::uuid[], ${names.map((_, at) => `$${at + 2}::bytea[]`).join(", ")}) as fresh (row_id, ${names.join(", ")})
      where t.${id} = fresh.row_id`,
    [rows.map((row) => row.id), ...names.map((name) => rows.map(({ sealed }) => sealed[name] ?? null))],
  );
}
