import { z } from "zod";
import type { Middleware } from "koa";
import { invalid, Problem } from "../../domain/errors.ts";
import { roleAllows } from "../../domain/accounts/principal.ts";
import type { Config } from "../../config.ts";
import { carriesToken } from "../../platform/metrics-token.ts";
import { createPayloadReader, UnreadablePayloadAt } from "../../services/system/read-payloads.ts";
import type { RawPayload } from "../../services/system/read-payloads.ts";
import { unauthorized } from "../auth/authenticate.ts";
import { sessionSecret } from "../auth/session-cookie.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation, RequestContext, RequestState } from "../http/operation.ts";

const PATH = "/temporal/codec";
/** One event of a history has fewer. */
const MAX_PAYLOADS = 1000;

const bytes = z.base64().describe("Bytes in base64.");
// Loose: they are Temporal's messages, and may get more members than we know.
const payloadSchema = z
  .looseObject({
    metadata: z.record(z.string().max(1000), bytes).optional().describe("`encoding` and others, in base64."),
    data: bytes.optional(),
  })
  .meta({ id: "TemporalPayload" });
const payloadsSchema = z
  .looseObject({ payloads: z.array(payloadSchema).max(MAX_PAYLOADS) })
  .meta({ id: "TemporalPayloads", description: "Payloads as Temporal's JSON has them." });
type PayloadJson = z.infer<typeof payloadSchema>;

/** Whose payloads a caller may read: everybody's, or those of one organisation. */
type Reader = { readonly org_id: string | null };

/** `/temporal/codec`: what Temporal's UI and command line decrypt payloads by. */
export function createCodecOperations({ config, db, payloads }: ApiDeps, { credentials }: ApiServices): Operation[] {
  // A description of the operations has nothing behind it.
  const reader = (): ReturnType<typeof createPayloadReader> => createPayloadReader(db, payloads);

  /** Throws 401, and 403 if the caller is not an admin. */
  async function admit(ctx: RequestContext): Promise<Reader> {
    const { authorization } = ctx.headers;
    const token = config.MILLRACE_CODEC_TOKEN;
    if (token !== undefined && carriesToken(authorization, token)) return { org_id: null };
    const principal = await principalOf(ctx);
    if (principal === null)
      throw unauthorized(
        "Send MILLRACE_CODEC_TOKEN, or the credential of an admin, as bearer credential.",
        authorization !== undefined,
      );
    ctx.state.principal = principal;
    if (principal.access === "public" || !roleAllows(principal.role, "admin"))
      throw new Problem("forbidden", "This needs the role admin.");
    if (principal.limits !== undefined) throw new Problem("key_restricted", "A key with limits decrypts nothing.");
    return { org_id: principal.org_id };
  }

  /** By the Authorization header, or by the session of the console for pages of the configured origin. */
  async function principalOf(ctx: RequestContext) {
    const { authorization } = ctx.headers;
    const bearer = /^Bearer +(\S+)$/i.exec((authorization ?? "").slice(0, 4096))?.[1];
    if (authorization !== undefined) return bearer === undefined ? null : credentials.find(bearer);
    const session = isFromUi(config, ctx) ? sessionSecret(config, ctx) : undefined;
    return session === undefined ? null : credentials.findSession(session);
  }

  const common = {
    method: "POST",
    tag: "Service",
    auth: "none",
    looseQuery: true,
    body: payloadsSchema,
    looseBody: true,
    problems: ["unauthorized", "forbidden", "key_restricted", "validation_error", "service_unavailable"],
  } as const;
  const example = { payloads: [{ metadata: { encoding: "anNvbi9wbGFpbg==" }, data: "ImhlbGxvIg==" }] };

  return [
    defineOperation({
      ...common,
      id: "decodePayloads",
      path: `${PATH}/decode`,
      summary: "Decrypt payloads of workflows",
      description: `For Temporal's UI and command line (a remote codec). With \`MILLRACE_CODEC_TOKEN\` as bearer credential everything is decrypted; with the credential of an admin, or the session of one in a page of \`MILLRACE_TEMPORAL_UI_ORIGIN\`, the payloads of the organisation's runs. All others come back as they are. At most ${MAX_PAYLOADS} payloads.`,
      examples: { plain: example },
      success: { 200: { description: "The payloads, in their order.", schema: payloadsSchema, example } },
      async handler({ body, ctx }) {
        const { org_id } = await admit(ctx);
        try {
          const opened = await reader().decode(body.payloads.map(fromJson), org_id);
          return { status: 200, body: { payloads: opened.map(toJson) } };
        } catch (error) {
          if (error instanceof UnreadablePayloadAt) throw invalid(["body", "payloads", error.at], error.message);
          throw error;
        }
      },
    }),
    defineOperation({
      ...common,
      id: "encodePayloads",
      path: `${PATH}/encode`,
      summary: "Encrypt payloads of workflows",
      description: `The reverse, for workflows that are started or signalled by hand: for \`MILLRACE_CODEC_TOKEN\` alone. At most ${MAX_PAYLOADS} payloads.`,
      examples: { plain: example },
      success: { 200: { description: "The payloads, in their order.", schema: payloadsSchema, example } },
      async handler({ body, ctx }) {
        const { org_id } = await admit(ctx);
        if (org_id !== null) throw new Problem("forbidden", "Only MILLRACE_CODEC_TOKEN may encrypt.");
        const sealed = await reader().encode(body.payloads.map(fromJson));
        return { status: 200, body: { payloads: sealed.map(toJson) } };
      },
    }),
  ];
}

/** Lets pages of Temporal's UI, at the one origin that is configured, read the answers. */
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
