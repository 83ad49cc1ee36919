import { createHmac, timingSafeEqual } from "node:crypto";
import { sha256 } from "../derived-id.ts";
import { webhookProblem } from "../webhooks/webhook-signature.ts";
import type { WebhookConfig } from "./trigger.ts";

/** Largest accepted difference between the clocks (s). */
const TOLERANCE_SECONDS = 300;

/** An inbound request; header names are in lower case. */
export interface InboundRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** Whether a request is authentic, with a key to recognise repetitions; the key is null if the sender provides none. */
export type Verdict = { readonly problem: string } | { readonly key: string | null };

/** Verifies a request's signature and time. The key is derived from signed content, so a copy of the request has the same key. */
export function verifyInbound(
  verification: WebhookConfig["verification"],
  secret: string,
  { headers, body }: InboundRequest,
  nowMs = Date.now(),
): Verdict {
  switch (verification) {
    case "none":
      return { key: null };
    case "standard_webhooks": {
      const problem = webhookProblem(headers, body.toString("utf8"), secret, nowMs);
      return problem === null ? { key: `id ${headers["webhook-id"] ?? ""}` } : { problem };
    }
    case "github": {
      const [, given = ""] = /^sha256=([0-9a-f]{64})$/i.exec(headers["x-hub-signature-256"] ?? "") ?? [];
      if (given === "") return { problem: "X-Hub-Signature-256 is missing" };
      if (!isDigest(given, digestOf(body, secret))) return { problem: "the signature does not match" };
      // GitHub signs neither a time nor the delivery's ID, so the same body counts as the same delivery.
      return { key: `body ${sha256(body)}` };
    }
    case "stripe": {
      const parts = (headers["stripe-signature"] ?? "").split(",").map((part) => part.split("=", 2));
      const time = parts.find(([name]) => name === "t")?.[1] ?? "";
      if (!/^\d{1,12}$/.test(time)) return { problem: "Stripe-Signature is missing or has no time" };
      if (Math.abs(nowMs / 1000 - Number(time)) > TOLERANCE_SECONDS) return { problem: "the delivery is not fresh" };
      const expected = digestOf(Buffer.concat([Buffer.from(`${time}.`), body]), secret);
      const holds = parts.some(([name, value = ""]) => name === "v1" && isDigest(value, expected));
      if (!holds) return { problem: "the signature does not match" };
      // A retried delivery has a new time but the same body, so the body identifies it.
      return { key: `body ${sha256(body)}` };
    }
    default:
      return verification satisfies never;
  }
}

function digestOf(signed: Buffer, secret: string): Buffer {
  return createHmac("sha256", secret).update(signed).digest();
}

/** Whether a text is the expected digest in hexadecimal; false for any other text, including an empty or shorter one. */
function isDigest(hex: string, expected: Buffer): boolean {
  if (!/^[0-9a-f]{64}$/i.test(hex)) return false;
  return timingSafeEqual(Buffer.from(hex, "hex"), expected);
}
