import { z } from "zod";
import { digestId } from "../derived-id.ts";

export const PAGE_KINDS = ["form", "chat"] as const;
export type PageKind = (typeof PAGE_KINDS)[number];

export const PAGE_STATUSES = ["active", "expired", "revoked"] as const;
export type PageStatus = (typeof PAGE_STATUSES)[number];

/** Days after its last use for which the handle of a visitor is valid. */
export const VISITOR_DAYS = 90;

/** Longest title of a conversation, in characters. */
export const TITLE_CHARS = 200;

export const pageLook = z.strictObject({
  name: z.string().trim().min(1).max(100),
  colour: z
    .string()
    .regex(/^#[0-9a-f]{6}$/i, "Must be a colour such as #1f6feb")
    .toLowerCase()
    .nullable()
    .default(null),
  welcome: z.string().max(2000).nullable().default(null),
});
export type PageLook = z.output<typeof pageLook>;

const MOST_PER_MINUTE = 100_000;
const perMinute = z.int().min(1).max(MOST_PER_MINUTE);

/** How many runs and uploads a page accepts per minute. */
export const pageRates = z.strictObject({
  page: perMinute.default(60).describe("From all visitors together."),
  visitor: perMinute.default(10).describe("From one visitor."),
  network: perMinute.default(30).describe("From one IP address; for IPv6 from one /64 network."),
});
export type PageRates = z.output<typeof pageRates>;

const NO_ORIGIN = "Must be an origin such as https://shop.example";

/**
 * A web origin that may show a page: it becomes part of a Content Security Policy, in which `*` and `;` have a meaning that a host's name
 * must not have.
 */
export const pageOrigin = z
  .string()
  .max(300)
  .regex(/^https?:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d{1,5})?$/, NO_ORIGIN)
  .refine((text) => URL.canParse(text) && new URL(text).origin === text, NO_ORIGIN);

/** Whether a page can be used at a time (ms). */
export function pageStatus(
  { revoked_at, expires_at }: { readonly revoked_at: string | null; readonly expires_at: string | null },
  now: number,
): PageStatus {
  if (revoked_at !== null) return "revoked";
  return expires_at !== null && Date.parse(expires_at) <= now ? "expired" : "active";
}

/** The `user_id` of the runs and documents of a visitor's conversation. */
export function visitorUserId(visitorId: string, conversationId: string): string {
  return `${visitorId}-${conversationId}`;
}

const UUID_CHARS = 36;

/** The conversation that a run of this visitor belongs to; null if the run is not the visitor's. */
export function conversationOf(visitorId: string, userId: string | null): string | null {
  if (!userId?.startsWith(`${visitorId}-`)) return null;
  const conversation = userId.slice(UUID_CHARS + 1);
  return conversation.length === UUID_CHARS ? conversation : null;
}

/** The path of a pause as `io-schema` lists it: without the numbers of iterations. */
export function pausePoint(path: string): string {
  return path.replaceAll(/\[\d+\]/g, "");
}

/** The ID of the score that a visitor gives a run: there is one for each run. */
export function feedbackId(runId: string): string {
  return digestId(runId, `${runId} feedback of its visitor`);
}
