import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";
import { findAccessGaps, findRoleGaps, type AccessGap } from "./access.ts";
import { BEFORE_BASELINE, UPDATE_FIRST, withBaseline } from "./baseline.ts";
import { asDb, type Db } from "./statements.ts";
import { withOwnConnection } from "./own-connection.ts";
import { findUnsupported } from "./server.ts";

/** An arbitrary number, the same for every process, so that migrators of one database wait for each other. */
const LOCK = 5_217_730_001;
const LOOK_EVERY_MS = 200;
/** The first line of a migration that builds indexes while others write, which cannot run in a transaction. */
const OUTSIDE = "-- Outside a transaction";
/** A line that stands for another file, as in psql. */
const INCLUDE = /^\\ir (\S+)$/gm;

export interface Migrated {
  /** Names of the applied migrations. */
  readonly applied: string[];
  /** Roles, policies and grants that the database lacked for its version and now has: a dump has no roles. */
  readonly mended: string[];
}

/**
 * Applies the migrations of `directory` that the database lacks, in order (only the ones in `only`, if given). Each
 * runs in its own transaction unless it begins with OUTSIDE. Then makes missing roles, policies and grants. Throws if
 * the database has a migration this program does not know, because it is newer, or one that is not in `only`, if it
 * has only some of the migrations that the baseline replaced, or if the server's version is not supported.
 */
export async function migrate(url: string, directory: string, only?: readonly string[]): Promise<Migrated> {
  const known = await migrationsIn(directory);
  const files = known.filter((name) => only?.includes(name) ?? true);
  return withOwnConnection(url, { application_name: "millrace-migrate" }, async (client) => {
    const unsupported = await findUnsupported(asDb(client));
    if (unsupported !== undefined) throw new Error(unsupported);
    // Polled rather than awaited: a concurrent index build waits for every session that waits for a lock.
    while (!(await hasLock(client))) await delay(LOOK_EVERY_MS);
    await client.query(
      "create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())",
    );
    const rows = await asDb(client).column<string>("select name from migrations");
    const before = await lackingBefore(directory, rows, known);
    const applied = checkApplied([...rows, ...before], known, files);
    const todo = files.filter((name) => !applied.has(name));
    // Before the migrations, which grant to the roles. A login that may not create them needs them to exist.
    const roles = applied.size === 0 ? [] : await mend(client, await findRoleGaps(asDb(client)));
    for (const name of before) await apply(client, `${directory}/${BEFORE_BASELINE}`, name);
    for (const name of todo) await apply(client, directory, name);
    const rest = (await findAccessGaps(asDb(client))).filter(({ foreign }) => !foreign);
    return { applied: [...before, ...todo], mended: [...roles, ...(await mend(client, rest))] };
  });
}

/** The replaced migrations in their folder that a database from before the baseline lacks. */
async function lackingBefore(directory: string, rows: readonly string[], known: readonly string[]): Promise<string[]> {
  if (!withBaseline(rows, known).outdated) return [];
  return (await migrationsIn(`${directory}/${BEFORE_BASELINE}`)).filter((name) => !rows.includes(name));
}

/** Names of the applied migrations. Throws unless each is in `known`, the program's own, and in `files`, the requested ones. */
function checkApplied(
  rows: readonly string[],
  known: readonly string[],
  files: readonly string[],
): ReadonlySet<string> {
  const { names, outdated } = withBaseline(rows, known);
  if (outdated) throw new Error(`The database is from before the baseline of this version. ${UPDATE_FIRST}`);
  const newer = names.filter((name) => !known.includes(name)).join(", ");
  if (newer !== "")
    throw new Error(`The database was migrated by a newer Millrace (${newer}). Run that version, or restore a backup.`);
  const beyond = names.filter((name) => !files.includes(name)).join(", ");
  if (beyond !== "")
    throw new Error(
      `The database is already newer than the requested version (${beyond}). Create a new database and do not migrate it first.`,
    );
  return new Set(names);
}

async function hasLock(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>("select pg_try_advisory_lock($1) as locked", [LOCK]);
  return rows[0]?.locked === true;
}

async function apply(client: Client, directory: string, name: string): Promise<void> {
  const sql = await readMigration(directory, name);
  if (sql.startsWith(OUTSIDE)) return applyOutside(client, name, sql);
  await client.query("begin");
  try {
    await client.query("insert into migrations (name) values ($1)", [name]);
    await client.query(sql);
    await client.query("commit");
  } catch (error) {
    // A lost connection ends its transaction; the first error is more informative.
    await client.query("rollback").catch(() => undefined);
    throw new Error(`Migration ${name} failed; the database is unchanged.`, { cause: error });
  }
}

async function readMigration(directory: string, name: string): Promise<string> {
  const sql = await readFile(`${directory}/${name}`, "utf8");
  const files = [...new Set([...sql.matchAll(INCLUDE)].map(([, file = ""]) => file))];
  const texts = new Map(
    await Promise.all(files.map(async (file) => [file, await readFile(`${directory}/${file}`, "utf8")] as const)),
  );
  return sql.replaceAll(INCLUDE, (line, file: string) => texts.get(file) ?? line);
}

/** The steps before a failure are kept, and a repeated migration does the rest. */
async function applyOutside(client: Client, name: string, sql: string): Promise<void> {
  try {
    for (const statement of sql.split(/;\n/)) {
      const [, index] = /create index concurrently if not exists (\w+)/.exec(statement) ?? [];
      if (index !== undefined) await dropInvalid(client, index);
      await client.query(statement);
    }
    await client.query("insert into migrations (name) values ($1)", [name]);
  } catch (error) {
    throw new Error(`Migration ${name} failed; you can run it again.`, { cause: error });
  }
}

/** An interrupted build leaves an unusable index, which "if not exists" would accept. */
async function dropInvalid(client: Client, index: string): Promise<void> {
  const sql = "select from pg_index where indexrelid = to_regclass($1) and not indisvalid";
  if ((await client.query(sql, [index])).rowCount === 1) await client.query(`drop index concurrently ${index}`);
}

/** Runs the repair of each gap, and returns the gaps. */
async function mend(client: Client, gaps: readonly AccessGap[]): Promise<string[]> {
  const mended: string[] = [];
  for (const { what, statement, membership } of gaps) {
    try {
      await client.query(statement);
      mended.push(what);
    } catch (error) {
      if (membership) continue;
      const message = `The database has no ${what}, and this user may not add it. Run as a user that may: ${statement}`;
      throw new Error(message, { cause: error });
    }
  }
  return mended;
}

export async function migrationsIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).toSorted();
}

/**
 * Compares a database with the migrations of `directory`: the ones it lacks, and unknown ones that it has. System only.
 */
export async function compareMigrations(
  db: Db,
  directory: string,
): Promise<{ applied: number; missing: string[]; unknown: string[] }> {
  const files = await migrationsIn(directory);
  const exists = await db.holds("select to_regclass('migrations') is not null");
  const rows = exists ? await db.column<string>("select name from migrations order by name") : [];
  const { names: applied } = withBaseline(rows, files);
  return {
    applied: applied.length,
    missing: files.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !files.includes(name)),
  };
}
