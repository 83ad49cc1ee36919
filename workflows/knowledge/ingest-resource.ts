import { ownActivities } from "../activities.ts";
import type { ResourceActivities } from "../../activities/knowledge/types.ts";
import type { ResourceInput } from "../../src/domain/knowledge/ingest.ts";

const FETCH_TIMEOUT_MS = 300_000;
/** The parser has shorter limits of its own, for a document and for each page with character recognition. */
const EXTRACT_TIMEOUT_MS = 3_600_000;
/** A long document may have thousands of chunks to embed. A retry keeps the ones that are finished. */
const INDEX_TIMEOUT_MS = 12 * 3_600_000;

/**
 * Indexes a revision of a document: fetches its bytes, extracts their text, and indexes its chunks. The document's row has the result, or
 * the reason of a failure.
 */
export async function ingestResource(input: ResourceInput): Promise<void> {
  if ((await ownActivities<ResourceActivities>(FETCH_TIMEOUT_MS).fetchResource(input)) === "stop") return;
  if ((await ownActivities<ResourceActivities>(EXTRACT_TIMEOUT_MS).extractResource(input)) === "stop") return;
  await ownActivities<ResourceActivities>(INDEX_TIMEOUT_MS).indexResource(input);
}
