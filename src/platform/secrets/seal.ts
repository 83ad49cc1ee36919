import { createHash, randomBytes } from "node:crypto";
import { AES_GCM_OVERHEAD, decrypt, encrypt } from "./aes-gcm.ts";

const KEY_BYTES = 32;
const ID_BYTES = 4;
const { nonce: NONCE_BYTES, tag: TAG_BYTES } = AES_GCM_OVERHEAD;
const VERSION = 1;
/** Where the sealed text begins: version, id of the master key, wrapped data key. */
const HEAD_BYTES = 1 + ID_BYTES + NONCE_BYTES + KEY_BYTES + TAG_BYTES;

/** Thrown when something sealed cannot be opened: the master key that sealed it is missing, or the bytes were changed or moved. */
export class SealBroken extends Error {
  override name = "SealBroken";
}

/** What `open` returns; undefined if the seal is broken. */
export function unlessBroken<Opened>(open: () => Opened): Opened | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof SealBroken) return undefined;
    throw error;
  }
}

/** Encrypts secrets for the database. */
export interface SecretBox {
  /** Seals a text. `context` names its location (table, id, column); it cannot be opened in another one. */
  seal(text: string, context: string): Buffer;
  /** Throws SealBroken. */
  open(sealed: Buffer, context: string): string;
  /** Whether its header names the current master key; only opening verifies this. */
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
 * Seals with AES-256-GCM: each text with its own data key, and the data key with a master key. The first of `masterKeys` seals; the others
 * still open what they sealed, so that a master key can be replaced.
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
        throw new SealBroken("The stored secret was not encrypted by Millrace.");
      const id = sealed.subarray(1, 1 + ID_BYTES).toString("hex");
      const masterKey = byId.get(id);
      if (!masterKey) throw new SealBroken("The secret was encrypted with a master key that is not configured.");
      const dataKey = openSealed(sealed.subarray(1 + ID_BYTES, HEAD_BYTES), masterKey, `data key of ${context}`);
      return openSealed(sealed.subarray(HEAD_BYTES), dataKey, context).toString("utf8");
    },
    isCurrent: (sealed) => sealed[0] === VERSION && sealed.subarray(1, 1 + ID_BYTES).equals(idOf(current)),
  };
}

/** Identifies a master key without revealing it; sealed texts contain this ID. */
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
    throw new SealBroken("The stored secret was changed, or belongs to another row.");
  }
}
