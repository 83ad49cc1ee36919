import { BlobNotFound } from "../../platform/blobs/blobs.ts";
import type { ResourceRow } from "../../stores/knowledge/resources.ts";

/**
 * Reads a stored file of a resource. If a new revision replaces the file meanwhile, the file of the new revision is read. Null if the file
 * does not exist.
 */
export async function readCurrent<Row extends Pick<ResourceRow, "blob_key" | "text_blob_key">, Read>(
  resource: Row,
  find: () => Promise<Row>,
  read: (resource: Row) => Promise<Read>,
): Promise<Read | null> {
  for (let present = resource; ;) {
    try {
      return await read(present);
    } catch (error) {
      if (!(error instanceof BlobNotFound)) throw error;
      const { blob_key, text_blob_key } = present;
      present = await find();
      if (present.blob_key === blob_key && present.text_blob_key === text_blob_key) return null;
    }
  }
}
