import { ownActivities } from "../activities.ts";
import type { IngestActivities } from "../../activities/index.ts";
import type { IngestInput } from "../../src/domain/documents/document.ts";

/** Longest time the reading of one document may take (ms); the parser's own limit is shorter. */
const INGEST_TIMEOUT_MS = 180_000;

/** Reads an uploaded document. Its row gets the text, or the reason why there is none. */
export async function ingestDocument(input: IngestInput): Promise<void> {
  await ownActivities<IngestActivities>(INGEST_TIMEOUT_MS).ingestDocument(input);
}
