import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { BlobColumn } from "../../stores/blob-sweep.ts";
import type { Database, Db } from "../../stores/db.ts";
import { LOWEST_ID } from "../../stores/keyset.ts";
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
} from "../../stores/blob-sweep.ts";

/** A younger blob may belong to an upload or activity in progress, whose row comes later. */
export const MIN_BLOB_AGE_MS = 86_400_000;
/** Largest difference between the clocks of two processes. */
const CLOCK_MARGIN_MS = 3_600_000;
/** One statement looks through 32 MiB of a table; 500 blobs are removed at a time. */
const BLOCKS = 4096;
const REMOVED_AT_ONCE = 500;
/** Runs of an organisation whose rows one statement looks through. */
const RUNS_AT_ONCE = 5000;

/**
 * Removes unreferenced blobs: remains of failed requests, dead processes and deleted runs. `olderThan` bounds them by
 * when they were stored; `blocksAtOnce` is the part of a table that one statement looks through. Returns how many
 * there were.
 */
export async function sweepBlobs(
  { db: database, blobs }: { readonly db: Database; readonly blobs: Pick<BlobStore, "list" | "delete"> },
  olderThan: Date,
  blocksAtOnce = BLOCKS,
): Promise<number> {
  return database.system((db) =>
    withComparison(db, async () => {
      for await (const keys of blobs.list(olderThan)) {
        // A key is the organisation's id and a UUIDv7, which starts with the time.
        const entries = keys.map((key) => {
          const [org_id = "", name = ""] = key.split("/");
          return { key, org_id, made_at: new Date(Number.parseInt(name.replace("-", "").slice(0, 12), 16)) };
        });
        if (entries.length > 0) await addBlobs(db, entries);
      }
      await inOneState(db, async () => {
        await keepOfOpenRuns(db, CLOCK_MARGIN_MS);
        await keepInColumns(db, BLOB_COLUMNS, blocksAtOnce, null);
      });
      return removeRest(db, blobs);
    }),
  );
}

/**
 * Removes the given blobs of an organisation that are no longer referenced. The rows that referred to them have just
 * been removed, so neither their age nor open runs matter. Only the organisation's own rows can refer to its blobs, so
 * no others' values are read. Returns how many there were.
 */
export async function removeUnreferenced(
  { db: database, blobs }: { readonly db: Database; readonly blobs: Pick<BlobStore, "delete"> },
  orgId: string,
  keys: readonly string[],
  runsAtOnce = RUNS_AT_ONCE,
): Promise<number> {
  return database.system((db) =>
    withComparison(db, async () => {
      const own = keys.filter((key) => key.startsWith(`${orgId}/`));
      await addBlobs(
        db,
        own.map((key) => ({ key, org_id: orgId, made_at: new Date(0) })),
      );
      await inOneState(db, () => keepReferencedOf(db, orgId, runsAtOnce));
      return removeRest(db, blobs);
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
  // The other tables are far smaller than those of runs, and not all have an index by organisation.
  const others = BLOB_COLUMNS.filter((column) => !isOfRuns(column));
  await keepInColumns(db, others, BLOCKS, orgId);
}

async function keepInColumns(
  db: Db,
  columns: readonly BlobColumn[],
  blocksAtOnce: number,
  orgId: string | null,
): Promise<void> {
  for (const column of columns) {
    for (const part of await partsOf(db, column)) {
      for (let first = 0; first < part.blocks; first += blocksAtOnce) {
        const count = first + blocksAtOnce < part.blocks ? blocksAtOnce : undefined;
        await keepReferenced(db, part, { first, count, orgId });
      }
    }
  }
}

async function removeRest(db: Db, blobs: Pick<BlobStore, "delete">): Promise<number> {
  for (let removed = 0; ;) {
    const keys = await takeUnreferenced(db, REMOVED_AT_ONCE);
    await Promise.all(keys.map((key) => blobs.delete(key)));
    removed += keys.length;
    if (keys.length < REMOVED_AT_ONCE) return removed;
  }
}
