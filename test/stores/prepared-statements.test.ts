import { randomUUID } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { isConnectionError, openDatabase, type Database, type Db } from "../../src/stores/db.ts";
import { emptyDatabase } from "../support/database.ts";

// Running processes must survive a migration that adds a column to a table that one of their prepared statements selects with `*`.

const STATEMENT = "select *, pg_backend_pid() as session from things where id = $1::int";
const readFirst = (db: Db) => db.first<{ readonly name: string; readonly session: number }>(STATEMENT, [1]);
const WITH_COLUMN = expect.objectContaining({ name: "first", added: null }) as unknown;

/** A database with a session that prepared the statement before a migration. */
async function migratedSince(): Promise<{ readonly database: Database; readonly session: number }> {
  const { url, drop } = await emptyDatabase();
  const database = openDatabase({ url, poolSize: 1, applicationName: "test", onError: () => undefined });
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  const run = (sql: string) => database.system((db) => db.query(sql));
  await run("create table things (id int, name text); insert into things values (1, 'first')");
  const session = (await database.system(readFirst))?.session ?? 0;
  await run("alter table things add column added text");
  return { database, session };
}

it("an outdated prepared statement is executed anyway and its connection closed afterwards", async () => {
  const { database, session } = await migratedSince();
  expect(await database.system(readFirst)).toEqual({ id: 1, name: "first", added: null, session });
  const next = await database.system(readFirst);
  expect(next).toEqual(WITH_COLUMN);
  expect(next?.session).not.toBe(session);
});

it("a transaction with an outdated statement is rolled back with an error that allows a retry", async () => {
  const { database } = await migratedSince();
  const work = async (db: Db) => {
    await db.query("insert into things values (2, 'second')");
    return [await readFirst(db), await db.count("select from things")];
  };
  const error: unknown = await database.systemTransaction(work).catch((reason: unknown) => reason);
  expect(isConnectionError(error)).toBe(true);
  expect(await database.systemTransaction(work)).toEqual([WITH_COLUMN, 2]);
});

it("statements that Postgres does not support are still refused", async () => {
  const { database } = await migratedSince();
  const unsupported = "select distinct name from things where id = $1::int for update";
  const error: unknown = await database.system((db) => db.query(unsupported, [1])).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Error);
  expect(isConnectionError(error)).toBe(false);
});

it("each statement with values is prepared once per connection, unless it opts out", async () => {
  const { database } = await migratedSince();
  const texts = ["select $1::int as one", "select $1::int as other"];
  const prepared = await database.org(randomUUID(), async (db) => {
    for (const text of [...texts, ...texts]) await db.query(text, [1]);
    await db.query({ text: "select $1::int as third", prepared: false }, [1]);
    return db.query(
      "select statement from pg_prepared_statements where statement like 'select $1::int as %' order by prepare_time",
    );
  });
  expect(prepared).toEqual(texts.map((statement) => ({ statement })));
});
