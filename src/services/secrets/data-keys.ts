import { randomBytes } from "node:crypto";
import { uuidv7 } from "uuidv7";
import type { DataKey, DataKeys } from "../../platform/secrets/payload-cipher.ts";
import type { SecretBox } from "../../platform/secrets/seal.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { Database } from "../../stores/db.ts";
import {
  currentDataKey,
  findDataKey,
  insertDataKey,
  type DataKeyPurpose,
  type DataKeyRow,
} from "../../stores/secrets/data-keys.ts";
import { secretContext } from "../../stores/secrets/sealed.ts";

const KEY_BYTES = 32;

/**
 * The data keys of a purpose, stored in the database; the first process that encrypts creates one. A key is read only
 * once, so it works without the database afterwards. `current` and `find` throw SealBroken if no master key opens a
 * key.
 */
export function createDataKeys(db: Database, box: SecretBox, purpose: DataKeyPurpose): DataKeys {
  const known = new Map<string, DataKey>();
  let current: Promise<DataKey> | undefined;

  function opened({ key_id, sealed }: DataKeyRow): DataKey {
    const key = { key_id, key: Buffer.from(box.open(sealed, secretContext("data_keys", key_id, "key")), "base64") };
    known.set(key_id, key);
    return key;
  }

  async function load(): Promise<DataKey> {
    const found = await db.system((connection) => currentDataKey(connection, purpose));
    if (found !== null) return opened(found);
    const key_id = uuidv7();
    const sealed = box.seal(randomBytes(KEY_BYTES).toString("base64"), secretContext("data_keys", key_id, "key"));
    // If another process has been faster, its key is used by both.
    const row = await db.system(async (connection) => {
      await insertDataKey(connection, purpose, { key_id, sealed });
      return currentDataKey(connection, purpose);
    });
    if (row === null) throw new Error(`no data key exists for ${purpose}`);
    return opened(row);
  }

  return {
    current() {
      current ??= load().catch((error: unknown) => {
        current = undefined;
        throw error;
      });
      return current;
    },
    async find(keyId) {
      const found = known.get(keyId);
      if (found !== undefined || !isUuid(keyId)) return found;
      const row = await db.system((connection) => findDataKey(connection, purpose, keyId));
      return row === null ? undefined : opened(row);
    },
  };
}
