import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** What encryption adds to the length of a text (bytes): the nonce in front of it, the tag behind it. */
export const AES_GCM_OVERHEAD = { nonce: 12, tag: 16 } as const;
const { nonce: NONCE_BYTES, tag: TAG_BYTES } = AES_GCM_OVERHEAD;

/** Encrypts with AES-256-GCM under a fresh nonce. `context` is authenticated along: with another one it cannot be decrypted. */
export function encrypt(bytes: Uint8Array, key: Buffer, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts what `encrypt` made. Throws where key, context or bytes are not the same. */
export function decrypt(bytes: Buffer, key: Buffer, context: string): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  }).setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
