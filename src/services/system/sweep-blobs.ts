import type { BlobStore } from "../../platform/blobs/blobs.ts";
import { deleteBlobs } from "../../platform/blobs/delete-blobs.ts";
import {
  addBlobs,
  BLOB_COLUMNS,
  inOneState,
  keepOfOpenRuns,
  keepReferenced,
  keepReferencedOfRuns,
  lastOfNextRuns,
  partsOf,
  TABLES_OF_RUNS,
  takeUnreferenced,
  withComparison,
  type BlobColumn,
} from "../../stores/system/blob-sweep.ts";
import type { Database, Db } from "../../stores/db.ts";
import { LOWEST_ID } from "../../stores/keyset.ts";

/** Younger blobs are kept, because an upload or activity in progress may insert their row later (ms). */
export const MIN_BLOB_AGE_MS = 86_400_000;
/** Largest assumed difference between the clocks of two processes (ms). */
const CLOCK_MARGIN_MS = 3_600_000;
/** Size of the part of a table that one statement searches (blocks of 8 KiB, so 32 MiB). */
const BLOCKS = 4096;
const REMOVED_AT_ONCE = 500;
/** Number of runs whose rows one statement searches. */
const RUNS_AT_ONCE = 5000;

export interface SweepDeps {
  readonly db: Database;
  readonly blobs: Pick<BlobStore, "list" | "delete">;
  /** Whether the sweep must end early because its process is stopping. */
  readonly isClosed?: () => boolean;
}

/**
 * Removes unreferenced blobs: remains of failed requests, dead processes and deleted runs. Only blobs stored before
 * `olderThan` are removed; `blocksAtOnce` is the size of the part of a table that one statement searches. Returns the
 * number of removed blobs; removes none if the sweep is closed before the comparison ends.
 */
export async function sweepBlobs(
  { db: database, blobs, isClosed = () => false }: SweepDeps,
  olderThan: Date,
  blocksAtOnce = BLOCKS,
): Promise<number> {
  return database.system((db) =>
    withComparison(db, async () => {
      for await (const keys of blobs.list(olderThan)) {
        if (isClosed()) return 0;
        // A key consists of the organisation's ID and a UUIDv7, which starts with the time.
        const entries = keys.map((key) => {
          const [org_id = "", name = ""] = key.split("/");
          return { key, org_id, made_at: new Date(Number.parseInt(name.replace("-", "").slice(0, 12), 16)) };
        });
        if (entries.length > 0) await addBlobs(db, entries);
      }
      await inOneState(db, async () => {
        await keepOfOpenRuns(db, CLOCK_MARGIN_MS);
        await keepInColumns(db, BLOB_COLUMNS, blocksAtOnce, null, isClosed);
      });
      // After an incomplete comparison any blob may still be referenced, so nothing is removed.
      if (isClosed()) return 0;
      let removed = 0;
      await removeRest(db, blobs, (keys) => (removed += keys.length), isClosed);
      return removed;
    }),
  );
}

/**
 * Removes the given blobs of an organisation that are no longer referenced. The rows that referred to them have just
 * been removed, so the blobs' age and unfinished runs do not matter. Only the organisation's own rows can refer to its
 * blobs, so only these are read. Returns the keys of the removed blobs.
 */
export async function removeUnreferenced(
  { db: database, blobs }: { readonly db: Database; readonly blobs: Pick<BlobStore, "delete"> },
  orgId: string,
  keys: readonly string[],
  runsAtOnce = RUNS_AT_ONCE,
): Promise<string[]> {
  return database.system((db) =>
    withComparison(db, async () => {
      const own = keys.filter((key) => key.startsWith(`${orgId}/`));
      const entries = own.map((key) => ({ key, org_id: orgId, made_at: new Date(0) }));
      await addBlobs(db, entries);
      await inOneState(db, () => keepReferencedOf(db, orgId, runsAtOnce));
      const removed: string[] = [];
      await removeRest(db, blobs, (some) => removed.push(...some));
      return removed;
    }),
  );
}

async function keepReferencedOf(db: Db, orgId: string, runsAtOnce: number): Promise<void> {
  const isOfRuns = ({ table }: BlobColumn): boolean => TABLES_OF_RUNS.includes(table);
  for (let after = LOWEST_ID; ;) {
    const last = await lastOfNextRuns(db, orgId, after, runsAtOnce);
    if (last === null) break;
    for (const column of BLOB_COLUMNS.filter(isOfRuns)) await keepReferencedOfRuns(db, column, { orgId, after, last });
    after = last;
  }
  // The other tables are searched as a whole: they are far smaller than those of runs, and not all have an index by
  // organisation.
  const others = BLOB_COLUMNS.filter((column) => !isOfRuns(column));
  await keepInColumns(db, others, BLOCKS, orgId);
}

async function keepInColumns(
  db: Db,
  columns: readonly BlobColumn[],
  blocksAtOnce: number,
  orgId: string | null,
  isClosed = () => false,
): Promise<void> {
  for (const column of columns) {
    for (const part of await partsOf(db, column)) {
      for (let first = 0; first < part.blocks; first += blocksAtOnce) {
        if (isClosed()) return;
        const count = first + blocksAtOnce < part.blocks ? blocksAtOnce : undefined;
        await keepReferenced(db, part, { first, count, orgId });
      }
    }
  }
}

/** Removes all blobs that the comparison found no reference to. A blob that cannot be removed does not stop the others. */
async function removeRest(
  db: Db,
  blobs: Pick<BlobStore, "delete">,
  note: (keys: readonly string[]) => void,
  isClosed = () => false,
): Promise<void> {
  const failures: unknown[] = [];
  for (;;) {
    const keys = await takeUnreferenced(db, REMOVED_AT_ONCE);
    await deleteBlobs(blobs, keys).catch((error: unknown) => failures.push(error));
    note(keys);
    if (keys.length === REMOVED_AT_ONCE && !isClosed()) continue;
    if (failures.length > 0) throw failures[0];
    return;
  }
}
