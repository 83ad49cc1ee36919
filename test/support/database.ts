import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { inject } from "vitest";
import { openDatabase, type Database } from "../../src/stores/db.ts";
import type { SharedParts } from "./shared-parts.ts";

/** Creates a separate database from the migrated template, which takes about 50 ms. `drop` ends its sessions and deletes it. */
export function cloneDatabase(
  parts: Pick<SharedParts, "adminUrl" | "template"> = inject("millrace"),
): Promise<{ url: string; drop(): Promise<void> }> {
  return createDatabase(parts.adminUrl, `template ${parts.template}`);
}

/** Creates a database without tables, with these SQL options. `drop` ends its sessions and deletes it. */
export function emptyDatabase(options = ""): Promise<{ url: string; drop(): Promise<void> }> {
  return createDatabase(inject("millrace").adminUrl, options);
}

async function createDatabase(adminUrl: string, options = ""): Promise<{ url: string; drop(): Promise<void> }> {
  // A counter would repeat names, because vitest loads this module several times per process.
  const name = `test_${process.pid}_${randomBytes(6).toString("hex")}`;
  await administer(adminUrl, `create database ${name} ${options}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(adminUrl, `drop database if exists ${name} with (force)`) };
}

/** Opens a new migrated, empty database without a data key, for tests of stores. `close` deletes it. */
export async function testDatabase(): Promise<{ database: Database; url: string; close(): Promise<void> }> {
  const clone = await cloneDatabase();
  const database = openDatabase({
    url: clone.url,
    poolSize: 5,
    applicationName: "millrace-test",
    onError: () => undefined,
  });
  await database.system((db) => db.query("delete from data_keys"));
  return {
    database,
    url: clone.url,
    async close() {
      await database.close();
      await clone.drop();
    },
  };
}

/**
 * A database whose server pretends to be another one: the functions and views in `definitions`, in the schema
 * `claimed`, hide the server's own. `drop` deletes it.
 */
export async function claimingDatabase(definitions: string): Promise<{ url: string; drop(): Promise<void> }> {
  const clone = await cloneDatabase();
  await administer(clone.url, `create schema claimed; ${definitions}`);
  const name = new URL(clone.url).pathname.slice(1);
  await administer(clone.url, `alter database ${name} set search_path = claimed, public, pg_catalog`);
  return clone;
}

/** A definition for such a database: its server returns `value` for this setting. */
export function claimedSetting(name: string, value: string): string {
  return `create function claimed.current_setting(name text) returns text language sql as
    $$ select case name when '${name}' then '${value}' else pg_catalog.current_setting(name) end $$;`;
}

/** Runs one statement as superuser, outside a transaction. */
export async function administer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
