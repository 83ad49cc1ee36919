import { createPayloadCipher } from "../../src/platform/secrets/payload-cipher.ts";
import { createSecretBox } from "../../src/platform/secrets/seal.ts";
import { createStartInputs } from "../../src/services/runs/start-inputs.ts";
import { openDatabase } from "../../src/stores/db.ts";
import { insertDataKey } from "../../src/stores/secrets/data-keys.ts";
import { temporalDataConverter } from "../../src/temporal/payloads.ts";

// All test processes use fixed keys, so that a test can read any history without loading a key from a database.

const masterKey = Buffer.alloc(32, 7);
const dataKey = { key_id: "01890000-0000-7000-8000-000000000001", key: Buffer.alloc(32, 9) };

/** MILLRACE_MASTER_KEY of every process. */
export const MASTER_KEY = masterKey.toString("base64");

const cipher = createPayloadCipher({
  current: async () => dataKey,
  find: async (keyId) => (keyId === dataKey.key_id ? dataKey : undefined),
});

/** The data converter that Millrace's Temporal clients use. */
export const dataConverter = temporalDataConverter(cipher, { encrypts: true });

/** Encrypts the start inputs in rows of runs as the processes do. */
export const startInputs = createStartInputs(cipher, { seals: true });

/** Stores the tests' data key in a migrated database. */
export async function putDataKey(url: string): Promise<void> {
  const database = openDatabase({ url, poolSize: 2, applicationName: "millrace-test", onError: () => undefined });
  try {
    const { key_id, key } = dataKey;
    const sealed = createSecretBox([masterKey]).seal(key.toString("base64"), `data_keys/${key_id}/key`);
    await database.system((db) => insertDataKey(db, "payloads", { key_id, sealed }));
  } finally {
    await database.close();
  }
}
