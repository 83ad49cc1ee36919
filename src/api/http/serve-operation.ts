import { uuidv7 } from "uuidv7";
import type { Config } from "../../config.ts";
import { Problem } from "../../domain/errors.ts";
import { authenticate, authorise, bearer } from "../auth/authenticate.ts";
import type { CredentialLookup } from "../../services/accounts/credentials.ts";
import { allowAnyOrigin } from "./cors.ts";
import type { Idempotency, KeyHold } from "./idempotency.ts";
import type { Answer, Operation, RequestContext } from "./operation.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { renderProblem } from "./problem-answer.ts";
import type { RateLimiter } from "./rate-limit.ts";
import { checkEncoding, checkMultipart, isMultipart, mediaType, readJson } from "./read-json.ts";
import { renderJson } from "./render.ts";
import type { Rendered } from "./render.ts";
import { send } from "./send.ts";
import { validateRequest } from "./validate.ts";

export interface ServeDeps {
  readonly config: Config;
  readonly credentials: CredentialLookup;
  readonly idempotency: Idempotency;
  /** Absent where no limit is configured. */
  readonly rateLimiter?: RateLimiter | undefined;
}

/** Makes the middleware of one operation: authenticate, authorise, rate limit, validate, handle, respond. */
export function serveOperation(
  operation: Operation,
  deps: ServeDeps,
): (ctx: RequestContext & { params: Record<string, string> }) => Promise<void> {
  if (operation.multipart && operation.idempotent === true)
    throw new Error(`${operation.id}: a multipart body is not kept to be compared; use idempotent: "claim"`);
  return async function serveOperation(ctx) {
    ctx.state.operationId = operation.id;
    const principal = operation.auth === "none" ? null : await admit(ctx, operation, deps);
    const { body, bytes } = await readBody(ctx, operation, deps.config);
    const valid = validateRequest(operation, { params: ctx.params, query: ctx.query, headers: ctx.headers, body });
    const base = { ...valid, principal, ctx, requestId: ctx.state.requestId, signal: goneSignal(ctx) };
    const call = (hold: KeyHold | null): Promise<Answer> =>
      operation.handler({ ...base, repeated: hold?.repeated ?? false, newId: idSource(hold) });

    // An empty key is refused like any invalid one: its sender expects protection from a second run.
    const key = ctx.headers["idempotency-key"];
    if (!operation.idempotent || typeof key !== "string" || principal === null) return answer(ctx, await call(null));
    const request = {
      orgId: principal.org_id,
      key,
      operation: operation.id,
      method: ctx.method,
      path: ctx.path,
      search: ctx.search,
      body: bytes,
      makesRun: operation.idempotent === "run",
      credential: operation.confidential ? bearer(ctx.headers.authorization) : null,
    };
    if (operation.idempotent === "claim") return answer(ctx, await call(await deps.idempotency.claimOnly(request)));
    send(
      ctx,
      await deps.idempotency.once(request, async (hold) => renderOutcome(() => call(hold), ctx.state.requestId)),
    );
  };
}

async function admit(ctx: RequestContext, operation: Operation, deps: ServeDeps): Promise<Principal> {
  if (operation.auth === "public" && deps.config.MILLRACE_CORS) allowAnyOrigin(ctx);
  const principal = await authenticate(deps.credentials, ctx.headers.authorization);
  ctx.state.principal = principal;
  if (deps.rateLimiter) ctx.set(await deps.rateLimiter.take(principal.id));
  authorise(principal, operation);
  return principal;
}

async function readBody(
  ctx: RequestContext,
  operation: Operation,
  config: Config,
): Promise<{ body: unknown; bytes: Buffer }> {
  if (operation.bytes !== undefined && mediaType(ctx.req) === operation.bytes) {
    checkEncoding(ctx.req);
    return { body: undefined, bytes: Buffer.alloc(0) };
  }
  if (operation.multipart && (!operation.body || isMultipart(ctx.req))) {
    checkMultipart(ctx.req);
    return { body: undefined, bytes: Buffer.alloc(0) };
  }
  if (!operation.body) return { body: undefined, bytes: Buffer.alloc(0) };
  const limit = operation.bodyLimit === "run" ? config.MILLRACE_RUN_BODY_LIMIT_BYTES : config.MILLRACE_JSON_LIMIT_BYTES;
  const { value, bytes } = await readJson(ctx.req, { limit, looseTop: operation.looseBody ?? false });
  if (operation.multipart && value === undefined) {
    const types = ["application/json", "multipart/form-data", ...(operation.bytes ? [operation.bytes] : [])];
    throw new Problem("unsupported_media_type", `The content type must be ${types.join(" or ")}.`);
  }
  return { body: value, bytes };
}

/** The first id is the one kept with the Idempotency-Key. */
function idSource(hold: KeyHold | null): () => string {
  let kept = hold?.resourceId;
  return () => {
    const id = kept ?? uuidv7();
    kept = undefined;
    return id;
  };
}

function goneSignal(ctx: RequestContext): AbortSignal {
  const controller = new AbortController();
  ctx.res.once("close", () => {
    if (!ctx.res.writableFinished) controller.abort();
  });
  return controller.signal;
}

/** A Problem is an answer and stored as one; other errors are rethrown. */
async function renderOutcome(call: () => Promise<Answer>, requestId: string): Promise<Rendered> {
  try {
    const outcome = await call();
    if (outcome === "written" || "content" in outcome)
      throw new Error('an idempotent operation answers JSON; use idempotent: "claim"');
    return renderJson(outcome);
  } catch (error) {
    if (error instanceof Problem) return renderProblem(error, requestId);
    throw error;
  }
}

function answer(ctx: RequestContext, outcome: Answer): void {
  if (outcome === "written") return;
  if (!("content" in outcome)) return send(ctx, renderJson(outcome));
  ctx.status = outcome.status;
  ctx.set("Content-Type", outcome.type);
  for (const [name, value] of Object.entries(outcome.headers ?? {})) ctx.set(name, value);
  ctx.body = outcome.content;
}
