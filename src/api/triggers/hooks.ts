import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import type { Json } from "../../domain/json.ts";
import { runLimits } from "../../services/runs/create-run.ts";
import { receiveWebhook } from "../../services/triggers/receive.ts";
import { hashAddress } from "../../services/triggers/triggers.ts";
import { findTriggerByAddress } from "../../stores/triggers/triggers.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { createRateLimiter } from "../http/rate-limit.ts";
import { readJson } from "../http/read-json.ts";

/** Longest body of a request to a trigger. */
const MAX_BODY_BYTES = 1024 * 1024;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** `/hooks/{token}`: the addresses of inbound webhooks. */
export function createHookOperations(deps: ApiDeps, { flows }: ApiServices): Operation[] {
  const { config, db, blobs, runs, evaluation, secrets, logger } = deps;
  const limiter = createRateLimiter(db, { name: "hooks", points: config.MILLRACE_HOOK_RATE_LIMIT, seconds: 60 });
  const starting = {
    db,
    blobs,
    flows,
    evaluation,
    secrets,
    starter: runs,
    limits: runLimits(config),
    maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
    onStartDelayed: (run_id: string, err: unknown) =>
      logger.warn({ err, run_id }, "run not started at once; the sweeper will"),
  };
  return [
    defineOperation({
      id: "receiveWebhook",
      method: "POST",
      path: "/hooks/{token}",
      tag: "Triggers",
      summary: "Start a run by an inbound webhook",
      description: `The address is the credential, beside the signature that the trigger asks for. A delivery that comes again is answered with the run it started first. At most ${MAX_BODY_BYTES} bytes of JSON.`,
      auth: "none",
      params: z.object({ token: z.string().max(1000).describe("The unguessable part of the trigger's address.") }),
      looseQuery: true,
      bytes: "application/json",
      examples: { order: { order: { id: 17 } } },
      problems: [
        "bad_request",
        "unauthorized",
        "conflict",
        "payload_too_large",
        "unsupported_media_type",
        "too_many_concurrent_runs",
        "rate_limited",
        "service_unavailable",
      ],
      success: {
        202: {
          description: "The run has been accepted.",
          schema: z.object({ run_id: z.uuid() }).meta({ id: "RunAccepted" }),
        },
      },
      async handler({ params: { token }, ctx }) {
        const trigger = TOKEN.test(token)
          ? await db.system((connection) => findTriggerByAddress(connection, hashAddress(token)))
          : null;
        if (trigger === null) throw notFound("trigger");
        await limiter.take(trigger.id);
        const { value, bytes } = await readJson(ctx.req, { limit: MAX_BODY_BYTES });
        const { run_id, repeated } = await receiveWebhook(starting, trigger, {
          headers: firsts(ctx.headers),
          query: firsts(ctx.query),
          bytes,
          body: (value ?? null) as Json,
        });
        return { status: 202, body: { run_id }, headers: repeated ? { "Idempotent-Replayed": "true" } : {} };
      },
    }),
  ];
}

/** One text a name: the first where there are several. */
function firsts(given: Readonly<Record<string, string | readonly string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, [value].flat()[0] ?? ""]));
}
