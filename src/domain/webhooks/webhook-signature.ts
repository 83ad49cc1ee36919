import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const PREFIX = "whsec_";
const SECRET_BYTES = 32;
/** Limits of Standard Webhooks. */
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
/** The base64 of 32 bytes. */
const SIGNATURE = /^[A-Za-z0-9+/]{43}=$/;
/** Largest accepted difference between the clocks (s). */
const TOLERANCE_SECONDS = 300;

/** Makes a signing secret: `whsec_` and 32 random bytes in base64. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString("base64");
}

/** Whether a text is a secret of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. */
export function isWebhookSecret(text: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]{1,88}={0,2}$/.test(text)) return false;
  const bytes = Buffer.from(text.slice(PREFIX.length), "base64").length;
  return bytes >= MIN_SECRET_BYTES && bytes <= MAX_SECRET_BYTES;
}

export interface SignedMessage {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/** The `webhook-signature` header of Standard Webhooks: one signature per secret. */
export function signWebhook({ id, timestamp, body }: SignedMessage, secrets: readonly string[]): string {
  return secrets.map((secret) => `v1,${digest(`${id}.${timestamp}.${body}`, secret).toString("base64")}`).join(" ");
}

/** Why a delivery must not be trusted; null if its signature is valid and it is recent. Header names in lower case. */
export function webhookProblem(
  headers: Readonly<Record<string, string | undefined>>,
  body: string,
  secret: string,
  nowMs: number = Date.now(),
): string | null {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = headers;
  if (!id || !time || !signatures) return "a webhook header is missing";
  if (!/^\d{1,12}$/.test(time)) return "webhook-timestamp is not a time";
  if (Math.abs(nowMs / 1000 - Number(time)) > TOLERANCE_SECONDS) return "the delivery is not fresh";
  if (!isWebhookSecret(secret)) return "the secret is too short to sign with";
  const expected = digest(`${id}.${time}.${body}`, secret);
  const given = signatures.split(" ").flatMap((each) => (each.startsWith("v1,") ? [each.slice(3)] : []));
  const holds = given.some((text) => {
    if (!SIGNATURE.test(text)) return false;
    const bytes = Buffer.from(text, "base64");
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  });
  return holds ? null : "no signature matches the secret";
}

function digest(text: string, secret: string): Buffer {
  return createHmac("sha256", Buffer.from(secret.slice(PREFIX.length), "base64"))
    .update(text)
    .digest();
}
