import { uuidv7 } from "uuidv7";
import { UUID_PATTERN } from "../../domain/uuid.ts";
import { BlobNotFound, type BlobStore, type ObjectStore } from "./types.ts";

const ORG_PATTERN = new RegExp(`^${UUID_PATTERN}$`);
const KEY_PATTERN = new RegExp(`^(${UUID_PATTERN})/(${UUID_PATTERN})$`);

/** The organisation and the name in a key; undefined if no store could have made this key. */
export function partsOfKey(key: string): { readonly orgId: string; readonly name: string } | undefined {
  const [, orgId, name] = KEY_PATTERN.exec(key) ?? [];
  return orgId === undefined || name === undefined ? undefined : { orgId, name };
}

export function isBlobKey(key: string): boolean {
  return partsOfKey(key) !== undefined;
}

/** Whether a key was made for this organisation. */
export function blobBelongsTo(key: string, orgId: string): boolean {
  return partsOfKey(key)?.orgId === orgId;
}

/** Whether the blob exists; false for a malformed key. */
export async function blobExists(blobs: Pick<BlobStore, "size">, key: string): Promise<boolean> {
  try {
    await blobs.size(key);
    return true;
  } catch (error) {
    if (error instanceof BlobNotFound) return false;
    throw error;
  }
}

/** The store with a `put` that creates the keys itself. */
export function withKeys<Store extends Pick<ObjectStore, "putAs">>(store: Store): Store & Pick<BlobStore, "put"> {
  return {
    ...store,
    async put(orgId, content, limits) {
      requireOrganisation(orgId);
      const key = `${orgId}/${uuidv7()}`;
      return { key, ...(await store.putAs(key, content, limits)) };
    },
  };
}

function requireOrganisation(orgId: string): void {
  if (!ORG_PATTERN.test(orgId)) throw new Error("A blob's organisation must be a lower-case UUID.");
}
