import { z } from "zod";
import { notFound, Problem } from "../../domain/errors.ts";
import { challengeOf } from "../../domain/triggers/handshake.ts";
import type { HandshakeRequest } from "../../domain/triggers/handshake.ts";
import { receiveWebhook } from "../../services/triggers/receive.ts";
import { hashAddress } from "../../services/triggers/triggers.ts";
import { secretContext } from "../../stores/secrets/sealed.ts";
import { findTriggerByAddress } from "../../stores/triggers/triggers.ts";
import type { TriggerOf } from "../../stores/triggers/triggers.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { createRateLimiter } from "../../services/rate-limiter.ts";
import { readHookBody } from "./hook-body.ts";
import { startingRuns } from "./starting-runs.ts";

/** Longest body of a request to a trigger (bytes). */
const MAX_BODY_BYTES = 1024 * 1024;
const PLAIN = "text/plain; charset=utf-8";
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** `/hooks/{token}`: the URLs of inbound webhooks. */
export function createHookOperations(deps: ApiDeps, services: ApiServices): Operation[] {
  const { config, db, secrets } = deps;
  const limiter = createRateLimiter(db, { name: "hooks", points: config.MILLRACE_HOOK_RATE_LIMIT, seconds: 60 });
  const starting = { ...startingRuns(deps, services), secrets };

  /** The trigger of a URL, if it currently accepts requests. Throws 404 and 429. */
  async function triggerAt(token: string): Promise<TriggerOf<"webhook">> {
    const trigger = TOKEN.test(token)
      ? await db.system((connection) => findTriggerByAddress(connection, hashAddress(token)))
      : null;
    if (trigger === null) throw notFound("trigger");
    await limiter.take(trigger.id);
    return trigger;
  }
  function challengeFor(trigger: TriggerOf<"webhook">, request: HandshakeRequest): string | null {
    const { handshake } = trigger.config;
    if (handshake === undefined || !trigger.enabled) return null;
    const secret =
      trigger.secret === null ? "" : secrets.open(trigger.secret, secretContext("triggers", trigger.id, "secret"));
    return challengeOf(handshake, secret, request);
  }

  return [
    defineOperation({
      id: "receiveWebhook",
      audit: "run",
      method: "POST",
      path: "/hooks/{token}",
      tag: "Triggers",
      summary: "Start a run through an inbound webhook",
      description: `Starts a run with the request as its payload. The URL is the credential, in addition to the signature that the trigger requires. A repeated delivery returns the run that the first one started. Accepts up to ${MAX_BODY_BYTES} bytes of JSON, form fields or text. A verification request of the trigger's \`handshake\` gets its challenge back and starts no run.`,
      auth: "none",
      params: z.object({ token: z.string().max(1000).describe("The secret part of the webhook's URL.") }),
      looseQuery: true,
      bytes: "application/json",
      examples: { order: { order: { id: 17 } } },
      problems: [
        "bad_request",
        "unauthorized",
        "conflict",
        "too_many_nested_runs",
        "payload_too_large",
        "unsupported_media_type",
        "too_many_concurrent_runs",
        "quota_exceeded",
        "rate_limited",
        "service_unavailable",
      ],
      success: {
        200: { description: "The challenge of the verification request.", content: { "text/plain": z.string() } },
        202: {
          description: "The run was accepted.",
          schema: z.object({ run_id: z.uuid() }).meta({ id: "RunAccepted" }),
        },
      },
      async handler({ params: { token }, ctx }) {
        const trigger = await triggerAt(token);
        const { bytes, body } = await readHookBody(ctx.req, MAX_BODY_BYTES);
        const query = firsts(ctx.query);
        const challenge = challengeFor(trigger, { method: "POST", query, body });
        if (challenge !== null) return { status: 200, type: PLAIN, content: challenge };
        const request = { headers: firsts(ctx.headers), query, bytes, body };
        const { run_id, repeated } = await receiveWebhook(starting, trigger, request);
        return { status: 202, body: { run_id }, headers: repeated ? { "Idempotent-Replayed": "true" } : {} };
      },
    }),
    defineOperation({
      id: "answerHandshake",
      method: "GET",
      path: "/hooks/{token}",
      tag: "Triggers",
      summary: "Answer a webhook verification request",
      description:
        "Returns the challenge that the sender sends to verify the URL. For triggers whose `handshake` uses GET (`meta`). Starts no run.",
      auth: "none",
      params: z.object({ token: z.string().max(1000).describe("The secret part of the webhook's URL.") }),
      looseQuery: true,
      problems: ["forbidden", "rate_limited", "service_unavailable"],
      success: { 200: { description: "The challenge.", content: { "text/plain": z.string() } } },
      async handler({ params: { token }, ctx }) {
        const trigger = await triggerAt(token);
        const challenge = challengeFor(trigger, { method: "GET", query: firsts(ctx.query), body: null });
        if (challenge === null) throw new Problem("forbidden", "The trigger does not support this kind of handshake.");
        return { status: 200, type: PLAIN, content: challenge };
      },
    }),
  ];
}

/** One text per name: the first if there are several. */
function firsts(given: Readonly<Record<string, string | readonly string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, [value].flat()[0] ?? ""]));
}
