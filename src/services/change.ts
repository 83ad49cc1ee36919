import { Problem } from "../domain/errors.ts";
import type { Database, Db } from "../stores/db.ts";
import type { RowAudit } from "./audit/audit.ts";

/** The fields that a request changes; undefined fields are unchanged. */
export type Given<Whole> = { readonly [Member in keyof Whole]?: Whole[Member] | undefined };

/** The fields of a change that are not undefined. */
export function stated<Change extends object>(
  change: Change,
): { readonly [Member in keyof Change]?: Exclude<Change[Member], undefined> } {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as Change;
}

/** A request that changes some fields of a resource. Other fields keep the changes that concurrent requests make. */
export interface Change<Row, Result> {
  /** Reads the row and locks it until the transaction ends. Throws 404 if there is none. */
  readonly lock: (db: Db) => Promise<Row>;
  /** Throws 412 if the request was made for another state. */
  readonly requireMatch: (row: Row) => void;
  /** Merges the change into the locked row and writes it. Must be fast, because other requests wait for the row. */
  readonly write: (db: Db, row: Row) => Promise<Result>;
  /** How the change is recorded in the audit log. */
  readonly audited: RowAudit<Row>;
}

/** A change with checks that are too slow to be made under a lock. */
export interface CheckedChange<Row, Checked, Result> extends Omit<Change<Row, Result>, "lock" | "write"> {
  /** Reads the row and, if asked to, locks it until the transaction ends. Throws 404 if there is none. */
  readonly read: (db: Db, lock: boolean) => Promise<Row>;
  /** The revision that the checks depend on. If it differs once the row is locked, the checks are repeated. */
  readonly revisionOf: (row: Row) => number | string;
  /** Makes the checks, outside of any transaction. */
  readonly prepare: (row: Row) => Promise<Checked>;
  readonly write: (db: Db, row: Row, checked: Checked) => Promise<Result>;
}

/** Executes a change in one transaction, and records it in the audit log. */
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

/** Each attempt lets one concurrent request through, so at least this many requests may compete. */
const MAX_ATTEMPTS = 20;

/** Executes a change with slow checks. Throws 503 if other requests keep changing the resource. */
export async function changeChecked<Row, Checked, Result>(
  database: Database,
  orgId: string,
  { read, requireMatch, revisionOf, prepare, write, audited }: CheckedChange<Row, Checked, Result>,
): Promise<Result> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const before = await database.org(orgId, (db) => read(db, false));
    requireMatch(before);
    const checked = await prepare(before);
    const done = await database.orgTransaction(orgId, async (db) => {
      const row = await read(db, true);
      requireMatch(row);
      if (revisionOf(row) !== revisionOf(before)) return null;
      const result = await write(db, row, checked);
      await record(db, audited, row, await read(db, true));
      return { result };
    });
    if (done !== null) return done.result;
  }
  throw new Problem("service_unavailable", "The resource is being changed by other requests. Retry shortly.", {
    headers: { "Retry-After": "1" },
  });
}

async function record<Row>(db: Db, { audit, view, ...named }: RowAudit<Row>, before: Row, after: Row): Promise<void> {
  await audit(db, { ...named, before: view(before), after: view(after) });
}
