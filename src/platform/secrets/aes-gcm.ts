import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** Bytes that encryption adds to a text: the nonce before it, the tag after it. */
export const AES_GCM_OVERHEAD = { nonce: 12, tag: 16 } as const;
const { nonce: NONCE_BYTES, tag: TAG_BYTES } = AES_GCM_OVERHEAD;

/** Encrypts with AES-256-GCM and a new nonce. `context` is authenticated, so decryption with another one fails. */
export function encrypt(bytes: Uint8Array, key: Buffer, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts the result of `encrypt`. Throws if the key, the context or the bytes differ. */
export function decrypt(bytes: Buffer, key: Buffer, context: string): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  }).setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
