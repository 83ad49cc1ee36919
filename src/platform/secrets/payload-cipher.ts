import { hkdfSync, randomBytes } from "node:crypto";
import { AES_GCM_OVERHEAD, decrypt, encrypt } from "./aes-gcm.ts";

/** A random key that encrypts what lies outside the database. */
export interface DataKey {
  readonly key_id: string;
  readonly key: Buffer;
}

/** Where data keys come from. */
export interface DataKeys {
  /** The one that encrypts. */
  current(): Promise<DataKey>;
  /** One that has encrypted; undefined where it is not known. */
  find(keyId: string): Promise<DataKey | undefined>;
}

/** Encrypts bytes that leave the process. `context` is authenticated along: with another one they cannot be decrypted. */
export interface PayloadCipher {
  seal(bytes: Uint8Array, context: string): Promise<{ readonly key_id: string; readonly data: Buffer }>;
  /** Throws PayloadUnreadable. */
  open(keyId: string, data: Uint8Array, context: string): Promise<Buffer>;
}

/** Thrown for bytes that no key opens, or that were changed. */
export class PayloadUnreadable extends Error {
  override name = "PayloadUnreadable";
}

const KEY_BYTES = 32;
const SALT_BYTES = 16;
const VERSION = 1;
const HEAD_BYTES = 1 + SALT_BYTES;
/** With random nonces a key of AES-GCM may encrypt 2^32 messages; one that is derived here has far fewer, and one hour. */
const MAX_MESSAGES = 2 ** 30;
const MAX_AGE_MS = 3_600_000;
/** Derived keys that are kept: as many as processes and hours whose payloads are read at once. */
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
  const known = new Map<string, Buffer>();
  let sealing: Sealing | undefined;

  function derive({ key_id, key }: DataKey, salt: Uint8Array): Buffer {
    const name = `${key_id} ${Buffer.from(salt).toString("base64")}`;
    const found = known.get(name) ?? Buffer.from(hkdfSync("sha256", key, salt, "millrace payloads", KEY_BYTES));
    // The last ones used are last in the order of insertion.
    known.delete(name);
    known.set(name, found);
    if (known.size > MAX_DERIVED) known.delete(known.keys().next().value ?? "");
    return found;
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
        throw new PayloadUnreadable("The payload is not one of ours.");
      const key = await keys.find(keyId);
      if (key === undefined) throw new PayloadUnreadable(`The payload is encrypted under data key ${keyId}: unknown.`);
      const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      try {
        return decrypt(bytes.subarray(HEAD_BYTES), derive(key, bytes.subarray(1, HEAD_BYTES)), aad(keyId, context));
      } catch {
        throw new PayloadUnreadable("The payload was changed, or belongs elsewhere.");
      }
    },
  };
}

function aad(keyId: string, context: string): string {
  return `payload ${keyId} ${context}`;
}
