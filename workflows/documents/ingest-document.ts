import { regular } from "../activities.ts";
import type { IngestInput } from "../../src/domain/documents/document.ts";

/** Longest time the reading of one document may take (ms); the parser's own limit is shorter. */
const INGEST_TIMEOUT_MS = 180_000;

/** Reads an uploaded document: its text, or why there is none, ends up in its row. */
export async function ingestDocument(input: IngestInput): Promise<void> {
  await regular(INGEST_TIMEOUT_MS).ingestDocument(input);
}
