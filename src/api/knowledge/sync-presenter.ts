import { z } from "zod";
import { SYNC_MODES, SYNC_OUTCOMES, SYNC_STATES } from "../../domain/knowledge/sync.ts";
import type { SyncItemRow } from "../../stores/knowledge/sync-items.ts";
import type { SyncItemError, SyncRow } from "../../stores/knowledge/syncs.ts";
import { asDeclared } from "../http/as-declared.ts";

const reason = z.object({ code: z.string(), message: z.string() });

export const syncSchema = z
  .object({
    sync_id: z.uuid(),
    knowledge_base_id: z.uuid(),
    mode: z.enum(SYNC_MODES),
    delete_missing: z.boolean(),
    trigger: z.enum(["request", "schedule"]),
    state: z.enum(SYNC_STATES),
    cancel_requested: z.boolean(),
    total: z.int().describe("Number of documents to check, as far as they have been listed."),
    counts: z
      .object({
        added: z.int(),
        updated: z.int(),
        deleted: z.int(),
        unchanged: z.int(),
        failed: z.int(),
      })
      .describe("Number of documents by outcome. In a dry run, the expected outcomes."),
    error: reason.nullable().describe("Why the whole sync failed."),
    errors: z
      .array(reason.extend({ address: z.string(), resource_id: z.uuid().nullable() }))
      .optional()
      .describe(
        "Only when you get one sync: the first 100 documents that failed. `.../items?outcome=failed` lists all.",
      ),
    created_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "KnowledgeBaseSync" });

/** Shows a sync as an item of a list, without errors. */
export function presentSync(sync: SyncRow, errors?: readonly SyncItemError[]): z.infer<typeof syncSchema> {
  const cancel_requested = sync.cancel_requested_at !== null;
  return asDeclared(syncSchema, { ...sync, cancel_requested, counts: sync, ...(errors && { errors }) });
}

export const syncItemSchema = z
  .object({
    item_id: z.uuid(),
    address: z.string().describe("URL of the document or, for an upload or a text, its `resource_path`."),
    resource_id: z.uuid().nullable(),
    outcome: z
      .enum(SYNC_OUTCOMES)
      .nullable()
      .describe("What the sync did with the document; `null` until it is known."),
    error: reason.nullable(),
  })
  .meta({ id: "KnowledgeBaseSyncItem" });

export const presentSyncItem = (item: SyncItemRow) => asDeclared(syncItemSchema, item);
