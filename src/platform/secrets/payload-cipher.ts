import { hkdfSync, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { AES_GCM_OVERHEAD, decrypt, encrypt } from "./aes-gcm.ts";

/** A random key that encrypts data outside the database. */
export interface DataKey {
  readonly key_id: string;
  readonly key: Buffer;
}

/** The source of data keys. */
export interface DataKeys {
  /** The key that encrypts now. */
  current(): Promise<DataKey>;
  /** A key that was used for encryption; undefined if it is unknown. */
  find(keyId: string): Promise<DataKey | undefined>;
}

/** Encrypts bytes that leave the process. `context` is authenticated, so decryption with another one fails. */
export interface PayloadCipher {
  seal(bytes: Uint8Array, context: string): Promise<{ readonly key_id: string; readonly data: Buffer }>;
  /** Throws PayloadUnreadable. */
  open(keyId: string, data: Uint8Array, context: string): Promise<Buffer>;
}

/** Thrown for bytes that no key can decrypt, or that were changed. */
export class PayloadUnreadable extends Error {
  override name = "PayloadUnreadable";
}

const KEY_BYTES = 32;
const SALT_BYTES = 16;
const VERSION = 1;
const HEAD_BYTES = 1 + SALT_BYTES;
/** With random nonces, an AES-GCM key may encrypt 2^32 messages; a derived key encrypts far fewer in its one hour. */
const MAX_MESSAGES = 2 ** 30;
const MAX_AGE_MS = 3_600_000;
/** Most derived keys in memory: as many as there are processes and hours whose payloads are read at the same time. */
const MAX_DERIVED = 1000;

interface Sealing {
  readonly key_id: string;
  readonly salt: Buffer;
  readonly derived: Buffer;
  readonly until: number;
  left: number;
}

/** Encrypts with AES-256-GCM under keys that are derived from a data key: each process has its own, and a new one each hour. */
export function createPayloadCipher(keys: DataKeys, now: () => number = Date.now): PayloadCipher {
  const known = new LRUCache<string, Buffer>({ max: MAX_DERIVED });
  let sealing: Sealing | undefined;

  function derive({ key_id, key }: DataKey, salt: Uint8Array): Buffer {
    const name = `${key_id} ${Buffer.from(salt).toString("base64")}`;
    const found = known.get(name);
    if (found) return found;
    const made = Buffer.from(hkdfSync("sha256", key, salt, "millrace payloads", KEY_BYTES));
    known.set(name, made);
    return made;
  }

  async function present(): Promise<Sealing> {
    if (sealing && sealing.left > 0 && now() < sealing.until) return sealing;
    const key = await keys.current();
    const salt = randomBytes(SALT_BYTES);
    const { key_id } = key;
    sealing = { key_id, salt, derived: derive(key, salt), until: now() + MAX_AGE_MS, left: MAX_MESSAGES };
    return sealing;
  }

  return {
    async seal(bytes, context) {
      const by = await present();
      by.left -= 1;
      const sealed = encrypt(bytes, by.derived, aad(by.key_id, context));
      return { key_id: by.key_id, data: Buffer.concat([Buffer.of(VERSION), by.salt, sealed]) };
    },
    async open(keyId, data, context) {
      if (data.length < HEAD_BYTES + AES_GCM_OVERHEAD.nonce + AES_GCM_OVERHEAD.tag || data[0] !== VERSION)
        throw new PayloadUnreadable("The payload was not encrypted by Millrace.");
      const key = await keys.find(keyId);
      if (key === undefined)
        throw new PayloadUnreadable(`The payload is encrypted with data key ${keyId}, which does not exist.`);
      const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      try {
        return decrypt(bytes.subarray(HEAD_BYTES), derive(key, bytes.subarray(1, HEAD_BYTES)), aad(keyId, context));
      } catch {
        throw new PayloadUnreadable("The payload was changed, or belongs to another workflow.");
      }
    },
  };
}

function aad(keyId: string, context: string): string {
  return `payload ${keyId} ${context}`;
}
