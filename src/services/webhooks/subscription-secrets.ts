import { z } from "zod";
import type { SecretBox } from "../../platform/secrets/seal.ts";
import { secretContext } from "../../stores/secrets/sealed.ts";

const ofSecret = (id: string): string => secretContext("webhook_subscriptions", id, "secret");
const ofHeaders = (id: string): string => secretContext("webhook_subscriptions", id, "headers");

const headersSchema = z.record(z.string(), z.string());

export function sealSecret(box: SecretBox, subscriptionId: string, secret: string): Buffer {
  return box.seal(secret, ofSecret(subscriptionId));
}

/** Throws SealBroken. */
export function openSecret(box: SecretBox, subscriptionId: string, sealed: Buffer): string {
  return box.open(sealed, ofSecret(subscriptionId));
}

export function sealHeaders(
  box: SecretBox,
  subscriptionId: string,
  headers: Readonly<Record<string, string>>,
): Buffer | null {
  return Object.keys(headers).length === 0 ? null : box.seal(JSON.stringify(headers), ofHeaders(subscriptionId));
}

/** Throws SealBroken. */
export function openHeaders(box: SecretBox, subscriptionId: string, sealed: Buffer | null): Record<string, string> {
  return sealed === null ? {} : headersSchema.parse(JSON.parse(box.open(sealed, ofHeaders(subscriptionId))));
}
