import { createHash, randomBytes } from "node:crypto";
import { AES_GCM_OVERHEAD, decrypt, encrypt } from "./aes-gcm.ts";

const KEY_BYTES = 32;
const ID_BYTES = 4;
const { nonce: NONCE_BYTES, tag: TAG_BYTES } = AES_GCM_OVERHEAD;
const VERSION = 1;
/** Where the sealed text begins: version, id of the master key, wrapped data key. */
const HEAD_BYTES = 1 + ID_BYTES + NONCE_BYTES + KEY_BYTES + TAG_BYTES;

/** Thrown when something sealed cannot be opened: no master key that it was sealed under, or the bytes were changed or moved. */
export class SealBroken extends Error {
  override name = "SealBroken";
}

/** Encrypts secrets for the database. */
export interface SecretBox {
  /** Seals a text. `context` says what it is of (table, id, column): in another place it cannot be opened. */
  seal(text: string, context: string): Buffer;
  /** Throws SealBroken. */
  open(sealed: Buffer, context: string): string;
  /** Whether its header names the current master key; only opening it verifies that. */
  isCurrent(sealed: Buffer): boolean;
}

/** Reads a master key as the configuration has it: 32 bytes in base64. Undefined for anything else. */
export function parseMasterKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, "base64");
  return key.length === KEY_BYTES && /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? key : undefined;
}

/** Makes a master key. */
export function generateMasterKey(): string {
  return randomBytes(KEY_BYTES).toString("base64");
}

/**
 * Seals with AES-256-GCM: each text under a data key of its own, and that under a master key. The first of `masterKeys`
 * seals; the others still open what was sealed under them, so that a master key can be replaced.
 */
export function createSecretBox(masterKeys: readonly Buffer[]): SecretBox {
  const [current] = masterKeys;
  if (!current) throw new Error("a secret box needs a master key");
  const byId = new Map(masterKeys.map((key) => [masterKeyId(key), key]));
  return {
    seal(text, context) {
      const dataKey = randomBytes(KEY_BYTES);
      const wrapped = encrypt(dataKey, current, `data key of ${context}`);
      const body = encrypt(Buffer.from(text, "utf8"), dataKey, context);
      return Buffer.concat([Buffer.of(VERSION), idOf(current), wrapped, body]);
    },
    open(sealed, context) {
      if (sealed.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES || sealed[0] !== VERSION)
        throw new SealBroken("The stored secret is not one of ours.");
      const id = sealed.subarray(1, 1 + ID_BYTES).toString("hex");
      const masterKey = byId.get(id);
      if (!masterKey) throw new SealBroken("The secret was sealed under a master key that is not configured.");
      const dataKey = openSealed(sealed.subarray(1 + ID_BYTES, HEAD_BYTES), masterKey, `data key of ${context}`);
      return openSealed(sealed.subarray(HEAD_BYTES), dataKey, context).toString("utf8");
    },
    isCurrent: (sealed) => sealed[0] === VERSION && sealed.subarray(1, 1 + ID_BYTES).equals(idOf(current)),
  };
}

/** Identifies a master key without revealing it, as what it has sealed names it. */
export function masterKeyId(key: Buffer): string {
  return idOf(key).toString("hex");
}

function idOf(key: Buffer): Buffer {
  return createHash("sha256").update("millrace master key").update(key).digest().subarray(0, ID_BYTES);
}

function openSealed(bytes: Buffer, key: Buffer, context: string): Buffer {
  try {
    return decrypt(bytes, key, context);
  } catch {
    throw new SealBroken("The stored secret was changed, or belongs elsewhere.");
  }
}
