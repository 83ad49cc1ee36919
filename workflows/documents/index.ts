import { ownActivities } from "../activities.ts";
import type { IngestActivities } from "../../activities/documents/types.ts";
import type { IngestInput } from "../../src/domain/documents/document.ts";

/** Longest time for reading one document (ms); the parser has a shorter limit. */
const INGEST_TIMEOUT_MS = 180_000;

/** Reads an uploaded document. The document's row has the text, or the reason why there is none. */
export async function ingestDocument(input: IngestInput): Promise<void> {
  await ownActivities<IngestActivities>(INGEST_TIMEOUT_MS).ingestDocument(input);
}
