import type { IngestStep, ResourceInput } from "../../src/domain/knowledge/ingest.ts";
import type { SyncInput, SyncStep } from "../../src/domain/knowledge/sync.ts";

/** The steps that index a resource of a knowledge base. */
export interface ResourceActivities {
  /** Stores the resource's bytes. */
  fetchResource(input: ResourceInput): Promise<IngestStep>;
  /** Extracts the text of the stored bytes. */
  extractResource(input: ResourceInput): Promise<IngestStep>;
  /** Cuts the text into chunks, embeds and indexes them. */
  indexResource(input: ResourceInput): Promise<IngestStep>;
}

/** The steps of a sync; each hands the work back after a while. */
export interface SyncActivities {
  /** Lists the items of the knowledge base's sources, and other pending work. */
  listSync(input: SyncInput): Promise<SyncStep>;
  /** Reads the listed documents, and has them indexed. */
  readSync(input: SyncInput): Promise<SyncStep>;
  /** Ends the sync, or reports that there is more to read. */
  finishSync(input: SyncInput): Promise<SyncStep>;
  /** Starts a sync unless one is running. */
  beginScheduledSync(base: Omit<SyncInput, "sync_id">): Promise<void>;
}
