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
    total: z.int().describe("Documents it looks at, as far as they have been listed."),
    counts: z
      .object({
        added: z.int(),
        updated: z.int(),
        deleted: z.int(),
        unchanged: z.int(),
        failed: z.int(),
      })
      .describe("In a dry run, the expected outcomes."),
    error: reason.nullable().describe("Why it has failed as a whole."),
    errors: z
      .array(reason.extend({ address: z.string(), resource_id: z.uuid().nullable() }))
      .optional()
      .describe(
        "In the answer of one sync: the first hundred documents that failed. `.../items?outcome=failed` has all.",
      ),
    created_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "KnowledgeBaseSync" });

/** Shows a sync, as one of a list without errors. */
export function presentSync(sync: SyncRow, errors?: readonly SyncItemError[]): z.infer<typeof syncSchema> {
  const { added, updated, deleted, unchanged, failed, error } = sync;
  return asDeclared(syncSchema, {
    ...sync,
    cancel_requested: sync.cancel_requested_at !== null,
    counts: { added, updated, deleted, unchanged, failed },
    error: error && { code: error.code, message: error.message },
    ...(errors && {
      errors: errors.map(({ address, resource_id, code, message }) => ({ address, resource_id, code, message })),
    }),
  });
}

export const syncItemSchema = z
  .object({
    item_id: z.uuid(),
    address: z.string().describe("Its address; of an upload or a text its `resource_path`."),
    resource_id: z.uuid().nullable(),
    outcome: z.enum(SYNC_OUTCOMES).nullable().describe("Null until it is known."),
    error: reason.nullable(),
  })
  .meta({ id: "KnowledgeBaseSyncItem" });

export function presentSyncItem(item: SyncItemRow): z.infer<typeof syncItemSchema> {
  const { item_id, address, resource_id, outcome, error } = item;
  return { item_id, address, resource_id, outcome, error: error && { code: error.code, message: error.message } };
}
