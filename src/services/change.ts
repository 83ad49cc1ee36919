import { Problem } from "../domain/errors.ts";
import type { Database, Db } from "../stores/db.ts";

/** A request that changes some members of a resource: what it does not name stays, whoever changes that at the same time. */
export interface Change<Row, Result> {
  /** Reads the row and keeps it locked until the transaction ends. Throws 404 where there is none. */
  readonly lock: (db: Db) => Promise<Row>;
  /** Throws 412 where the request was made for another state. */
  readonly requireMatch: (row: Row) => void;
  /** Merges the change into the locked row and writes it. It does nothing slow: others wait for the row. */
  readonly write: (db: Db, row: Row) => Promise<Result>;
}

/** The same, with checks that take too long to be made under a lock. */
export interface CheckedChange<Row, Checked, Result> extends Omit<Change<Row, Result>, "write"> {
  /** Reads the row without a lock. Throws 404 where there is none. */
  readonly find: (db: Db) => Promise<Row>;
  /** What the checks depend on. Where it is another one under the lock, they are made again. */
  readonly revisionOf: (row: Row) => number;
  /** Makes the checks, outside of any transaction. */
  readonly prepare: (row: Row) => Promise<Checked>;
  readonly write: (db: Db, row: Row, checked: Checked) => Promise<Result>;
}

/** Carries out a change in one transaction. */
export async function changeLocked<Row, Result>(
  database: Database,
  orgId: string,
  { lock, requireMatch, write }: Change<Row, Result>,
): Promise<Result> {
  return await database.orgTransaction(orgId, async (db) => {
    const row = await lock(db);
    requireMatch(row);
    return await write(db, row);
  });
}

/** Each attempt lets one of the concurrent requests through, so this many may compete. */
const MAX_ATTEMPTS = 20;

/** Carries out a change whose checks are slow. Throws 503 where others change the resource all the time. */
export async function changeChecked<Row, Checked, Result>(
  database: Database,
  orgId: string,
  { lock, find, requireMatch, revisionOf, prepare, write }: CheckedChange<Row, Checked, Result>,
): Promise<Result> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const before = await database.org(orgId, find);
    requireMatch(before);
    const checked = await prepare(before);
    const done = await changeLocked(database, orgId, {
      lock,
      requireMatch,
      write: async (db, row) =>
        revisionOf(row) === revisionOf(before) ? { result: await write(db, row, checked) } : null,
    });
    if (done !== null) return done.result;
  }
  throw new Problem("service_unavailable", "Others change the resource all the time. Try again shortly.", {
    headers: { "Retry-After": "1" },
  });
}
