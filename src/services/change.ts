import { Problem } from "../domain/errors.ts";
import type { Database, Db } from "../stores/db.ts";
import type { RowAudit } from "./audit/audit.ts";

/** The members of something that a request changes; undefined ones stay. */
export type Given<Whole> = { readonly [Member in keyof Whole]?: Whole[Member] | undefined };

/** The members that it names. */
export function stated<Change extends object>(
  change: Change,
): { readonly [Member in keyof Change]?: Exclude<Change[Member], undefined> } {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as Change;
}

/**
 * A request that changes some members of a resource. Members that it does not name stay, even while others change
 * them.
 */
export interface Change<Row, Result> {
  /** Reads the row and keeps it locked until the transaction ends. Throws 404 where there is none. */
  readonly lock: (db: Db) => Promise<Row>;
  /** Throws 412 where the request was made for another state. */
  readonly requireMatch: (row: Row) => void;
  /** Merges the change into the locked row and writes it. It does nothing slow: others wait for the row. */
  readonly write: (db: Db, row: Row) => Promise<Result>;
  /** How the change is recorded in the audit log. */
  readonly audited: RowAudit<Row>;
}

/** The same, for checks that take too long to make under a lock. */
export interface CheckedChange<Row, Checked, Result> extends Omit<Change<Row, Result>, "write"> {
  /** Reads the row without a lock. Throws 404 where there is none. */
  readonly find: (db: Db) => Promise<Row>;
  /** The revision that the checks depend on. If it differs once the row is locked, the checks are made again. */
  readonly revisionOf: (row: Row) => number;
  /** Makes the checks, outside of any transaction. */
  readonly prepare: (row: Row) => Promise<Checked>;
  readonly write: (db: Db, row: Row, checked: Checked) => Promise<Result>;
}

/** Carries out a change in one transaction, and records it in the audit log. */
export async function changeLocked<Row, Result>(
  database: Database,
  orgId: string,
  { lock, requireMatch, write, audited }: Change<Row, Result>,
): Promise<Result> {
  return await database.orgTransaction(orgId, async (db) => {
    const row = await lock(db);
    requireMatch(row);
    const result = await write(db, row);
    await record(db, audited, row, await lock(db));
    return result;
  });
}

/** Each attempt lets one of the concurrent requests through, so this many may compete. */
const MAX_ATTEMPTS = 20;

/** Carries out a change whose checks are slow. Throws 503 if others keep changing the resource. */
export async function changeChecked<Row, Checked, Result>(
  database: Database,
  orgId: string,
  { lock, find, requireMatch, revisionOf, prepare, write, audited }: CheckedChange<Row, Checked, Result>,
): Promise<Result> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const before = await database.org(orgId, find);
    requireMatch(before);
    const checked = await prepare(before);
    const done = await database.orgTransaction(orgId, async (db) => {
      const row = await lock(db);
      requireMatch(row);
      if (revisionOf(row) !== revisionOf(before)) return null;
      const result = await write(db, row, checked);
      await record(db, audited, row, await lock(db));
      return { result };
    });
    if (done !== null) return done.result;
  }
  throw new Problem("service_unavailable", "Others change the resource all the time. Try again shortly.", {
    headers: { "Retry-After": "1" },
  });
}

async function record<Row>(db: Db, { audit, view, ...named }: RowAudit<Row>, before: Row, after: Row): Promise<void> {
  await audit(db, { ...named, before: view(before), after: view(after) });
}
