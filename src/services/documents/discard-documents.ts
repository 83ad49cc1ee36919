import type { RemovedDocument } from "../../stores/documents/documents.ts";
import type { Parts } from "../parts.ts";

type DiscardDeps = Parts<"blobs" | "logger">;

/** Deletes a blob that no row refers to, so a failure only wastes space. */
export async function discardBlob({ blobs, logger }: DiscardDeps, key: string): Promise<void> {
  await blobs
    .delete(key)
    .catch((err: unknown) => logger.warn({ err, key }, "could not delete a blob; the daily clean-up will"));
}

/** Deletes the blobs of deleted documents. */
export async function discardDocuments(deps: DiscardDeps, removed: readonly RemovedDocument[]): Promise<void> {
  for (const { blob_key, text_value } of removed) {
    const keys = [blob_key, ...(text_value && "ref" in text_value ? [text_value.ref.$blob] : [])];
    for (const key of keys) await discardBlob(deps, key);
  }
}
