import { z } from "zod";
import type { Middleware } from "koa";
import { invalid, Problem } from "../../domain/errors.ts";
import { roleAllows } from "../../domain/accounts/principal.ts";
import type { Config } from "../../config.ts";
import { carriesToken } from "../../platform/metrics-token.ts";
import {
  createPayloadReader,
  UnreadablePayloadAt,
  type PayloadCaller,
  type RawPayload,
} from "../../services/system/read-payloads.ts";
import { unauthorized } from "../auth/authenticate.ts";
import { secretIn } from "../auth/session-cookie.ts";
import type { HandlerDeps } from "../deps.ts";
import { operationsOf, type RequestContext, type RequestState } from "../http/operation.ts";
import { requestOf } from "../http/request-audit.ts";

const PATH = "/temporal/codec";
/** More than one event of a history contains. */
const MAX_PAYLOADS = 1000;

const bytes = z.base64().describe("Base64-encoded bytes.");
// Loose, because these are Temporal's messages, which may gain fields.
const payloadSchema = z
  .looseObject({
    metadata: z.record(z.string().max(1000), bytes).optional().describe("`encoding` and other fields, in base64."),
    data: bytes.optional(),
  })
  .meta({ id: "TemporalPayload" });
const payloadsSchema = z
  .looseObject({ payloads: z.array(payloadSchema).max(MAX_PAYLOADS) })
  .meta({ id: "TemporalPayloads", description: "Payloads in Temporal's JSON format." });
type PayloadJson = z.infer<typeof payloadSchema>;

const admitted = new WeakMap<RequestContext, PayloadCaller>();

function callerOf(ctx: RequestContext): PayloadCaller {
  const caller = admitted.get(ctx);
  if (caller === undefined) throw new Error("the caller is admitted before the body is read");
  return caller;
}
const example = { payloads: [{ metadata: { encoding: "anNvbi9wbGFpbg==" }, data: "ImhlbGxvIg==" }] };

type Door = Pick<HandlerDeps, "config" | "credentials">;

/** Throws 401, 429, and 403 if the caller is not an admin. */
async function admit(ctx: RequestContext, count: (caller: string) => Promise<void>, door: Door): Promise<void> {
  const { config } = door;
  const { authorization } = ctx.headers;
  const token = config.MILLRACE_CODEC_TOKEN;
  const from = requestOf(config, ctx);
  if (token !== undefined && carriesToken(authorization, token)) {
    await count("codec token");
    admitted.set(ctx, { ...from, org_id: null, actor_type: "system", actor_id: null, session_id: null });
    return;
  }
  const principal = await principalOf(ctx, door);
  if (principal === null)
    throw unauthorized(
      "Send MILLRACE_CODEC_TOKEN, or the credential of an admin, as bearer token.",
      authorization !== undefined,
    );
  ctx.state.principal = principal;
  await count(principal.id);
  if (principal.access === "public" || !roleAllows(principal.role, "admin"))
    throw new Problem("forbidden", "This requires the role admin.");
  if (principal.limits !== undefined) throw new Problem("key_restricted", "A restricted key cannot decrypt.");
  const { org_id, type, id, session_id = null } = principal;
  admitted.set(ctx, { ...from, org_id, actor_type: type, actor_id: id, session_id });
}

/** Authenticates by the Authorization header, or by the console's session for pages of the configured origin. */
async function principalOf(ctx: RequestContext, { config, credentials }: Door) {
  const { authorization } = ctx.headers;
  const bearer = /^Bearer +(\S+)$/i.exec((authorization ?? "").slice(0, 4096))?.[1];
  if (authorization !== undefined) return bearer === undefined ? null : credentials.find(bearer);
  const session = isFromUi(config, ctx) ? secretIn(config, ctx, "millrace_session") : undefined;
  return session === undefined ? null : credentials.findSession(session);
}

const define = operationsOf(
  {
    tag: "Service",
    auth: "none",
    looseQuery: true,
    admit,
    problems: [
      "unauthorized",
      "forbidden",
      "key_restricted",
      "validation_error",
      "rate_limited",
      "service_unavailable",
    ],
  },
  ({ config, db, logger, payloads, credentials }) => ({
    config,
    credentials,
    reader: createPayloadReader({ db, logger }, payloads),
  }),
);

/** `/temporal/codec`: Temporal's UI and command line use it to decrypt payloads. */
export const codecOperations = [
  define({
    id: "decodePayloads",
    route: `POST ${PATH}/decode`,
    summary: "Decrypt workflow payloads",
    description: `Decrypts payloads for Temporal's UI and command line (remote codec). With \`MILLRACE_CODEC_TOKEN\` as bearer credential it decrypts everything. With an admin's credential, or an admin's session in a page of \`MILLRACE_TEMPORAL_UI_ORIGIN\`, it decrypts payloads of the organisation's runs and returns all others unchanged. The audit log of a run's organisation gets one entry for each caller, run and minute. At most ${MAX_PAYLOADS} payloads.`,
    body: payloadsSchema,
    looseBody: true,
    examples: { plain: example },
    success: { 200: { description: "The payloads in the same order.", schema: payloadsSchema, example } },
    async handler({ body, ctx }, { reader }) {
      try {
        const opened = await reader.decode(body.payloads.map(fromJson), callerOf(ctx));
        return { status: 200, body: { payloads: opened.map(toJson) } };
      } catch (error) {
        if (error instanceof UnreadablePayloadAt) throw invalid(["body", "payloads", error.at], error.message);
        throw error;
      }
    },
  }),
  define({
    id: "encodePayloads",
    route: `POST ${PATH}/encode`,
    summary: "Encrypt workflow payloads",
    description: `Encrypts payloads of workflows that are started or signalled by hand. Needs \`MILLRACE_CODEC_TOKEN\` as bearer credential. At most ${MAX_PAYLOADS} payloads.`,
    body: payloadsSchema,
    looseBody: true,
    examples: { plain: example },
    success: { 200: { description: "The payloads in the same order.", schema: payloadsSchema, example } },
    async handler({ body, ctx }, { reader }) {
      if (callerOf(ctx).org_id !== null) throw new Problem("forbidden", "Only MILLRACE_CODEC_TOKEN can encrypt.");
      const sealed = await reader.encode(body.payloads.map(fromJson));
      return { status: 200, body: { payloads: sealed.map(toJson) } };
    },
  }),
];

/** Lets pages of Temporal's UI, at the one configured origin, read the responses. */
export function codecCors(config: Config): Middleware<RequestState> {
  return async function codecCors(ctx, next) {
    if (!ctx.path.startsWith(`${PATH}/`)) return next();
    ctx.vary("Origin");
    if (!isFromUi(config, ctx)) return next();
    ctx.set("Access-Control-Allow-Origin", ctx.get("Origin"));
    ctx.set("Access-Control-Allow-Credentials", "true");
    if (ctx.method !== "OPTIONS") return next();
    ctx.set("Access-Control-Allow-Methods", "POST, OPTIONS");
    ctx.set("Access-Control-Allow-Headers", "Authorization, Authorization-Extras, Content-Type, X-Namespace");
    ctx.set("Access-Control-Max-Age", "600");
    ctx.status = 204;
  };
}

function isFromUi(config: Config, ctx: Pick<RequestContext, "get">): boolean {
  return config.MILLRACE_TEMPORAL_UI_ORIGIN !== undefined && ctx.get("Origin") === config.MILLRACE_TEMPORAL_UI_ORIGIN;
}

function fromJson({ metadata = {}, data = "" }: PayloadJson): RawPayload {
  const fields = Object.entries(metadata).map(([name, text]) => [name, Buffer.from(text, "base64")] as const);
  return { metadata: Object.fromEntries(fields), data: Buffer.from(data, "base64") };
}

function toJson({ metadata, data }: RawPayload): PayloadJson {
  const fields = Object.entries(metadata).map(
    ([name, value]) => [name, Buffer.from(value).toString("base64")] as const,
  );
  return { metadata: Object.fromEntries(fields), data: Buffer.from(data).toString("base64") };
}
