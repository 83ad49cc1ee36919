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

/** Blobs that are younger may be of an upload or an activity that is under way, whose row comes later. */
export const MIN_BLOB_AGE_MS = 86_400_000;
/** By how much the clocks of two processes may differ. */
const CLOCK_MARGIN_MS = 3_600_000;
/** 32 MiB of a table are looked through by a statement, 500 blobs removed at a time. */
const BLOCKS = 4096;
const REMOVED_AT_ONCE = 500;
/** Runs of an organisation whose rows a statement looks through. */
const RUNS_AT_ONCE = 5000;

/**
 * Removes the blobs that nothing refers to: what failed requests, processes that died and deleted runs have left. `olderThan`
 * bounds them by when they were stored; `blocksAtOnce` is the part of a table that one statement looks through. Answers how many there were.
 */
export async function sweepBlobs(
  { db: database, blobs }: { readonly db: Database; readonly blobs: Pick<BlobStore, "list" | "delete"> },
  olderThan: Date,
  blocksAtOnce = BLOCKS,
): Promise<number> {
  return database.system((db) =>
    withComparison(db, async () => {
      for await (const keys of blobs.list(olderThan)) {
        // A key is that of the organisation and a UUIDv7, which begins with the time.
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
 * Removes those of an organisation's blobs that nothing refers to any more: what referred to them has just been removed, so their age does
 * not matter, nor do open runs. Only rows of the organisation refer to its blobs: of others no value is looked into. Answers how many
 * there were.
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
  // The rest is far less than what runs have, and not all of it has an index by organisation.
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
