import { z } from "zod";
import type { SecretBox } from "../../platform/secrets/seal.ts";
import type { SealedColumn } from "../../stores/webhooks/secrets.ts";

/** Where a sealed secret belongs: at another subscription, or in another column, it cannot be opened. */
const ofSecret = (subscriptionId: string): string => `webhook_subscriptions/${subscriptionId}/secret`;
const ofHeaders = (subscriptionId: string): string => `webhook_subscriptions/${subscriptionId}/headers`;

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

/**
 * The same under the present master key: a new buffer, or the very one that was given when it is under that key already.
 * Throws SealBroken.
 */
export function reseal(box: SecretBox, subscriptionId: string, column: SealedColumn, sealed: Buffer): Buffer {
  // A secret that is replaced moves to the other column as it is.
  const context = column === "headers" ? ofHeaders(subscriptionId) : ofSecret(subscriptionId);
  const text = box.open(sealed, context);
  return box.isCurrent(sealed) ? sealed : box.seal(text, context);
}
