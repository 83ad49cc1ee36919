import { z } from "zod";
import { notFound, Problem, invalid, ValidationProblem } from "../../domain/errors.ts";
import { challengeOf, type HandshakeRequest } from "../../domain/triggers/handshake.ts";
import { receiveWebhook } from "../../services/triggers/receive.ts";
import { hashAddress } from "../../services/triggers/triggers.ts";
import { secretContext } from "../../stores/secrets/sealed.ts";
import { findTriggerByAddress, type TriggerOf } from "../../stores/triggers/triggers.ts";
import { operationsOf } from "../http/operation.ts";
import { createRateLimiter } from "../../services/rate-limiter.ts";
import { START_PROBLEMS } from "../http/run-request.ts";
import type { IncomingMessage } from "node:http";
import { isUtf8 } from "node:buffer";
import type { Json } from "../../domain/json.ts";
import { MAX_JSON_VALUES, MAX_WIDE_JSON_VALUES, unstorableIssue } from "../http/json-guard.ts";
import { checkEncoding, mediaType, parseForm, readBytes, readJson } from "../http/read-json.ts";
import { named } from "../http/schemas.ts";

const FORM = "application/x-www-form-urlencoded";
const TEXT = /^(?:text\/[\w.+-]+|application\/(?:xml|[\w.+-]+\+xml))$/;
/** The accepted content types, for the sender of another one. */
const WANTED = `application/json, ${FORM}, text/* or XML`;

/**
 * The body of a request to a trigger: JSON unchanged, the fields of a form, or any text as text. Throws Problems: 413, 415 for any other
 * type, and 422 for a body that is not of its declared type.
 */
async function readHookBody(req: IncomingMessage, limit: number): Promise<{ bytes: Buffer; body: Json }> {
  const type = mediaType(req);
  if (type !== FORM && !TEXT.test(type)) {
    const options = { limit, maxValues: MAX_WIDE_JSON_VALUES, wanted: WANTED };
    const { value, bytes } = await readJson(req, options);
    return { bytes, body: (value ?? null) as Json };
  }
  checkEncoding(req);
  const bytes = await readBytes(req, limit);
  if (!isUtf8(bytes)) throw invalid(["body"], "The body is not valid UTF-8");
  const text = bytes.toString("utf8");
  return { bytes, body: type === FORM ? fieldsOf(text) : storable(text) };
}

/** A text for each name, or a list for a repeated name. */
function fieldsOf(text: string): Json {
  if (text.split("&", MAX_JSON_VALUES + 1).length > MAX_JSON_VALUES)
    throw invalid(["body"], `A form can have at most ${MAX_JSON_VALUES} fields`);
  const parameters = parseForm(text);
  if (!parameters) throw invalid(["body"], "The percent-encoded text of the form is not valid UTF-8");
  const fields = new Map<string, Json>();
  for (const [name, given] of parameters) {
    if (name === "__proto__") throw invalid(["body", name], "This field name is not allowed");
    const value = storable(given);
    const before = fields.get(storable(name));
    fields.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(fields);
}

/**
 * The text unchanged. The sender gets an error if it cannot be stored, in a form as in JSON, so that nothing is dropped silently. Throws
 * 422.
 */
function storable(text: string): string {
  const issue = unstorableIssue(text, ["body"]);
  if (issue !== null) throw new ValidationProblem([issue]);
  return text;
}

/** Longest body of a request to a trigger (bytes). */
const MAX_BODY_BYTES = 1024 * 1024;
const PLAIN = "text/plain; charset=utf-8";
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

const define = operationsOf({ tag: "Triggers", auth: "none" }, ({ config, db, secrets }) => {
  const limiter = createRateLimiter(db, { name: "hooks", points: config.MILLRACE_HOOK_RATE_LIMIT, seconds: 60 });
  return {
    /** The trigger of a URL, if it currently accepts requests. Throws 404 and 429. */
    async triggerAt(token: string): Promise<TriggerOf<"webhook">> {
      const trigger = TOKEN.test(token)
        ? await db.system((connection) => findTriggerByAddress(connection, hashAddress(token)))
        : null;
      if (trigger === null) throw notFound("trigger");
      await limiter.take(trigger.id);
      return trigger;
    },
    challengeFor(trigger: TriggerOf<"webhook">, request: HandshakeRequest): string | null {
      const { handshake } = trigger.config;
      if (handshake === undefined || !trigger.enabled) return null;
      const secret =
        trigger.secret === null ? "" : secrets.open(trigger.secret, secretContext("triggers", trigger.id, "secret"));
      return challengeOf(handshake, secret, request);
    },
  };
});

/** `/hooks/{token}`: the URLs of inbound webhooks. */
export const hookOperations = [
  define({
    id: "receiveWebhook",
    audit: "run",
    route: "POST /hooks/{token}",
    summary: "Start a run through an inbound webhook",
    description: `Starts a run with the request as its payload. The URL is the credential, in addition to the signature that the trigger requires. A repeated delivery returns the run that the first one started. Accepts up to ${MAX_BODY_BYTES} bytes of JSON, form fields or text. A verification request of the trigger's \`handshake\` gets its challenge back and starts no run.`,
    params: z.object({ token: z.string().max(1000).describe("The secret part of the webhook's URL.") }),
    looseQuery: true,
    bytes: "application/json",
    examples: { order: { order: { id: 17 } } },
    problems: [
      ...START_PROBLEMS,
      "bad_request",
      "unauthorized",
      "conflict",
      "payload_too_large",
      "unsupported_media_type",
      "rate_limited",
      "service_unavailable",
    ],
    success: {
      200: { description: "The challenge of the verification request.", content: { "text/plain": z.string() } },
      202: { description: "The run was accepted.", schema: named("RunAccepted", { run_id: z.uuid() }) },
    },
    async handler({ params: { token }, ctx }, { triggerAt, challengeFor, starting, secrets }) {
      const trigger = await triggerAt(token);
      const { bytes, body } = await readHookBody(ctx.req, MAX_BODY_BYTES);
      const query = firsts(ctx.query);
      const challenge = challengeFor(trigger, { method: "POST", query, body });
      if (challenge !== null) return { status: 200, type: PLAIN, content: challenge };
      const request = { headers: firsts(ctx.headers), query, bytes, body };
      const { run_id, repeated } = await receiveWebhook({ ...starting, secrets }, trigger, request);
      return { status: 202, body: { run_id }, headers: repeated ? { "Idempotent-Replayed": "true" } : {} };
    },
  }),
  define({
    id: "answerHandshake",
    route: "GET /hooks/{token}",
    summary: "Answer a webhook verification request",
    description:
      "Returns the challenge that the sender sends to verify the URL. For triggers whose `handshake` uses GET (`meta`). Starts no run.",
    params: z.object({ token: z.string().max(1000).describe("The secret part of the webhook's URL.") }),
    looseQuery: true,
    problems: ["forbidden", "rate_limited", "service_unavailable"],
    success: { 200: { description: "The challenge.", content: { "text/plain": z.string() } } },
    async handler({ params: { token }, ctx }, { triggerAt, challengeFor }) {
      const trigger = await triggerAt(token);
      const challenge = challengeFor(trigger, { method: "GET", query: firsts(ctx.query), body: null });
      if (challenge === null) throw new Problem("forbidden", "The trigger does not support this kind of handshake.");
      return { status: 200, type: PLAIN, content: challenge };
    },
  }),
];

/** One text per name: the first if there are several. */
function firsts(given: Readonly<Record<string, string | readonly string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, [value].flat()[0] ?? ""]));
}
