import type { BlobStore } from "./types.ts";

/** Removes blobs; a failure does not stop the removal of the others. Throws the first failure once all have been tried. */
export async function deleteBlobs(blobs: Pick<BlobStore, "delete">, keys: readonly string[]): Promise<void> {
  const ends = await Promise.allSettled(keys.map((key) => blobs.delete(key)));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
}
