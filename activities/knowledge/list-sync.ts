import type { SyncInput, SyncStep } from "../../src/domain/knowledge/sync.ts";
import type { Db } from "../../src/stores/db.ts";
import { insertIndex, listIndexes, retireIndex } from "../../src/stores/knowledge/indexes.ts";
import {
  addListFailure,
  addListedItems,
  addResourceItems,
  unlistedAddresses,
} from "../../src/stores/knowledge/sync-items.ts";
import {
  beginSync,
  countItems,
  mayDeleteMissing,
  moveSync,
  type SyncPosition,
} from "../../src/stores/knowledge/syncs.ts";
import { takeSyncStep, type SyncContext, type SyncStepDeps } from "./sync-step.ts";

export interface ListSyncDeps extends SyncStepDeps {
  /** Most documents that the sources of one knowledge base may list. */
  readonly maxPages: number;
}

/** Lists the items of a knowledge base's sources, page by page, and then adds the other resources that the sync must handle. */
export function createListSync(deps: ListSyncDeps) {
  const { db, maxPages } = deps;
  return async function listSync(input: SyncInput): Promise<SyncStep> {
    const { org_id, sync_id } = input;
    return await takeSyncStep(deps, input, async (context) => {
      const { sync, sources, signal } = context;
      await db.orgTransaction(org_id, (connection) => begin(connection, context));
      let { position } = sync;
      // At this stage no item has been read, so the open items are all items.
      let { open: total } = await db.org(org_id, (connection) => countItems(connection, sync_id));
      while (position === null || !("done" in position)) {
        if (context.isLate()) return "more";
        const from: SyncPosition | null = position;
        const { source_no, at } = from ?? { source_no: 0, at: null };
        const source = sources[source_no];
        const page = source === undefined ? null : await source.list(at, signal);
        const { addresses = [] } = page ?? {};
        const unlisted = await db.org(org_id, (connection) => unlistedAddresses(connection, sync_id, addresses));
        const isFull = total + unlisted.length > maxPages;
        const failures = [...(page?.failures ?? [])];
        if (isFull) {
          const message = `Only the first ${maxPages} documents of the sources are read.`;
          failures.push({ address: `source ${source_no + 1}`, code: "too_many_pages", message });
        }
        const isIncomplete = failures.some(({ hidesNothing }) => hidesNothing !== true);
        const isLast = page === null || page.next === null || isFull;
        const to: SyncPosition =
          page === null
            ? { done: true }
            : isLast
              ? { source_no: source_no + 1, at: null }
              : { source_no, at: page.next };
        const moved = await db.orgTransaction(org_id, async (connection) => {
          if (!(await moveSync(connection, sync_id, from, to, isIncomplete))) return false;
          if (page === null) {
            await addResourceItems(connection, { ...sync, deleteMissing: await mayDeleteMissing(connection, sync_id) });
            return true;
          }
          total += await addListedItems(connection, sync_id, source_no, unlisted.slice(0, maxPages - total));
          for (const failure of failures) await addListFailure(connection, sync_id, source_no, failure);
          return true;
        });
        // Another attempt of this step has advanced further, so this one stops.
        if (!moved) return "more";
        await db.org(org_id, (connection) => countItems(connection, sync_id));
        position = to;
      }
      return "done";
    });
  };

  /** Records the start, with a new index if the settings have changed. */
  async function begin(connection: Db, { sync, base }: SyncContext): Promise<void> {
    if (!(await beginSync(connection, sync.sync_id)) || sync.mode !== "full" || !base.reindex_required) return;
    const { org_id, knowledge_base_id, indexing_params: params } = base;
    for (const { index_no, state } of await listIndexes(connection, knowledge_base_id)) {
      if (state === "building") await retireIndex(connection, index_no);
    }
    const { embedding_model } = params.embedding_params;
    const index = { org_id, knowledge_base_id, state: "building", params, embedding_model, dimensions: null } as const;
    await insertIndex(connection, index);
  }
}
