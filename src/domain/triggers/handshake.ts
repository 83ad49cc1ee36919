import { createHash, timingSafeEqual } from "node:crypto";
import { isObject, type Json } from "../json.ts";
import type { WebhookConfig } from "./trigger.ts";

/** The only challenges that are echoed: short, and of characters that no browser interprets as anything but text. */
const CHALLENGE = /^[\x20-\x7e]{1,512}$/;

/** A request that may be a sender's verification of the webhook's URL. */
export interface HandshakeRequest {
  readonly method: "GET" | "POST";
  readonly query: Readonly<Record<string, string>>;
  readonly body: Json;
}

/** The response to a sender that verifies the URL; null if the request is not a verification. */
export function challengeOf(
  handshake: WebhookConfig["handshake"],
  secret: string,
  { method, query, body }: HandshakeRequest,
): string | null {
  switch (handshake) {
    case undefined:
      return null;
    case "slack": {
      const members = isObject(body) ? body : {};
      const { type, challenge } = members as Readonly<Record<string, Json | undefined>>;
      return method === "POST" && type === "url_verification" ? echoed(challenge) : null;
    }
    case "microsoft_graph":
      return method === "POST" ? echoed(query["validationToken"]) : null;
    case "meta": {
      if (method !== "GET" || query["hub.mode"] !== "subscribe" || secret === "") return null;
      return isSame(query["hub.verify_token"] ?? "", secret) ? echoed(query["hub.challenge"]) : null;
    }
    default:
      return handshake satisfies never;
  }
}

const echoed = (value: Json | undefined): string | null =>
  typeof value === "string" && CHALLENGE.test(value) ? value : null;

const hashed = (text: string): Buffer => createHash("sha256").update(text).digest();
const isSame = (one: string, other: string): boolean => timingSafeEqual(hashed(one), hashed(other));
