import type { RemovedDocument } from "../../stores/documents/documents.ts";
import type { Parts } from "../parts.ts";

/** Deletes the blobs of deleted documents. Their rows no longer exist, so a failure only wastes space. */
export async function discardDocuments(
  { blobs, logger }: Parts<"blobs" | "logger">,
  removed: readonly RemovedDocument[],
): Promise<void> {
  for (const { blob_key, text_value } of removed) {
    const keys = [blob_key, ...(text_value && "ref" in text_value ? [text_value.ref.$blob] : [])];
    for (const key of keys) {
      await blobs
        .delete(key)
        .catch((err: unknown) => logger.warn({ err, key }, "could not delete a blob; the daily clean-up will"));
    }
  }
}
