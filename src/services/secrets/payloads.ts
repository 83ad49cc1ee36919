import type { Config } from "../../config.ts";
import { createPayloadCipher } from "../../platform/secrets/payload-cipher.ts";
import { SealBroken, type SecretBox } from "../../platform/secrets/seal.ts";
import { createDataKeys } from "./data-keys.ts";
import type { Database } from "../../stores/db.ts";
import { createPayloadCodec, temporalDataConverter } from "../../temporal/payloads.ts";

export type Payloads = ReturnType<typeof createPayloads>;

/** Encrypts what Temporal stores. */
export function createPayloads(config: Pick<Config, "MILLRACE_PAYLOAD_ENCRYPTION">, db: Database, secrets: SecretBox) {
  const keys = createDataKeys(db, secrets, "payloads");
  const encrypts = config.MILLRACE_PAYLOAD_ENCRYPTION === "on";
  const cipher = createPayloadCipher(keys);
  return {
    dataConverter: temporalDataConverter(cipher, { encrypts }),
    /** Encrypts and decrypts, whatever the setting. */
    codec: createPayloadCodec(cipher),
    cipher,
    /** Whether new payloads are encrypted. */
    encrypts,
    /**
     * Reads the key from the database, or creates it. Await it before polling: without the key a worker fails every
     * task, and runs end as stuck. Throws if the database is unreachable or no master key opens the key.
     */
    async load(): Promise<void> {
      try {
        await keys.current();
      } catch (error) {
        if (!(error instanceof SealBroken)) throw error;
        throw new KeyUnreadable(error);
      }
    },
  };
}

/** Thrown if no master key of this process opens the data key for Temporal's payloads. */
export class KeyUnreadable extends Error {
  constructor(cause: SealBroken) {
    const advice = "Add the key it was encrypted with to MILLRACE_MASTER_KEY.";
    super(`The key for data in Temporal cannot be decrypted. ${cause.message} ${advice}`, { cause });
    this.name = "KeyUnreadable";
  }
}
