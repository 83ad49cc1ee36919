import type { NewEvent } from "../webhooks/events.ts";
import { derivedId } from "../derived-id.ts";

export const SYNC_MODES = ["incremental", "full", "dry_run"] as const;
export type SyncMode = (typeof SYNC_MODES)[number];

export const SYNC_STATES = ["pending", "running", "completed", "failed", "cancelled"] as const;
export type SyncState = (typeof SYNC_STATES)[number];

export const SYNC_OUTCOMES = ["added", "updated", "deleted", "unchanged", "failed"] as const;
/** The outcome for a document in a sync; in a dry run, the expected outcome. */
export type SyncOutcome = (typeof SYNC_OUTCOMES)[number];

/** The input of a sync's workflow. */
export interface SyncInput {
  readonly org_id: string;
  readonly knowledge_base_id: string;
  readonly sync_id: string;
}

/** The result of one step: `stop` if the sync has ended or is to end. */
export type SyncStep = "more" | "done" | "stop";

/** Why a sync, or one of its items, failed. */
export interface SyncError {
  readonly code: string;
  readonly message: string;
}

export type SyncCounts = Readonly<Record<SyncOutcome, number>>;

/** The event for the end of a sync: the same however often it is written. */
export function syncEvent(
  sync: SyncInput & { readonly mode: SyncMode },
  state: "completed" | "failed",
  counts: SyncCounts,
  error: SyncError | null,
): NewEvent & { readonly org_id: string } {
  const { org_id, knowledge_base_id, sync_id, mode } = sync;
  return {
    event_id: derivedId(sync_id, "end"),
    org_id,
    type: `knowledge_base.sync.${state}`,
    data: {
      knowledge_base_id,
      sync_id,
      mode,
      state,
      // Copies only the counts, because `counts` may be a whole database row.
      counts: Object.fromEntries(SYNC_OUTCOMES.map((outcome) => [outcome, counts[outcome]])),
      error: error === null ? null : { ...error },
    },
  };
}
