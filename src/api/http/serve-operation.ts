import { uuidv7 } from "uuidv7";
import type { Config } from "../../config.ts";
import { Problem } from "../../domain/errors.ts";
import { linkAbort } from "../../platform/linked-abort.ts";
import { nextSlice } from "../../platform/slices.ts";
import type { RateLimiter } from "../../services/rate-limiter.ts";
import type { Db } from "../../stores/db.ts";
import { authenticate, authorise, type Caller } from "../auth/authenticate.ts";
import { scopeOf } from "../auth/operation-scope.ts";
import { requireProjects } from "../auth/project-roles.ts";
import type { HandlerDeps } from "../deps.ts";
import { allowAnyOrigin } from "./middleware.ts";
import { MAX_JSON_VALUES, MAX_WIDE_JSON_VALUES } from "./json-guard.ts";
import { requireHeld, type Idempotency, type KeyHold } from "./idempotency.ts";
import type { Answer, ContentAnswer, Operation, RequestContext } from "./operation.ts";
import { renderProblem, renderJson, send, type Rendered } from "./render.ts";
import { boundaryOf, checkEncoding, isMultipart, mediaType, readBody, readJson } from "./read-json.ts";
import { readMultipart, type UploadedFile } from "./read-multipart.ts";
import { createRequestAudit } from "./request-audit.ts";
import { turnOf } from "./turns.ts";
import { validateRequest, type RawRequest, type ValidRequest } from "./validate.ts";

/** Exceeds the number of files of any operation, so that every file of a repeated request is compared with those of the first one. */
const MAX_FILES = 1000;
/** Interval that, with the caching of credentials, ends a stream within the 5 s in which a revoked credential must be refused. */
const READMIT_EVERY_MS = 1500;
/** 404 is included for something in a project that the caller may no longer see, 410 for a page that was revoked. */
const REFUSALS: readonly number[] = [401, 403, 404, 410];

export interface ServeDeps extends HandlerDeps {
  readonly idempotency: Idempotency;
  /** Undefined if no limit is configured. */
  readonly rateLimiter?: RateLimiter | undefined;
}

/** Makes the middleware of one operation: authenticate, authorise, rate limit, validate, handle, respond. */
export function serveOperation(
  operation: Operation,
  deps: ServeDeps,
): (ctx: RequestContext & { params: Record<string, string> }) => Promise<void> {
  if (operation.multipart && operation.idempotent === true)
    throw new Error(`${operation.id}: a multipart body is not kept to be compared; use idempotent: "claim"`);
  if (operation.auth !== "none") scopeOf(operation);
  const handlerDeps = operation.depsOf(deps);
  return async function serveOperation(ctx) {
    ctx.state.operationId = operation.id;
    const caller = operation.auth === "none" ? null : await admit(ctx, operation, deps);
    await operation.admit?.(ctx, (id) => count(ctx, deps, id), handlerDeps);
    const { body, rounded, bytes } = await readRequest(ctx, operation, deps.config);
    const raw = { params: ctx.params, query: ctx.query, headers: ctx.headers, body, rounded };
    const valid = validOrPage(ctx, operation, raw, handlerDeps);
    if ("content" in valid) return answer(ctx, valid);
    const principal = caller && (await requireProjects(deps.db, caller.principal, operation, valid));
    const signal = goneSignal(ctx);
    const streamSignal = () => endOfStream(ctx, signal, operation, deps, valid);
    const base = { ...valid, principal, ctx, requestId: ctx.state.requestId, signal, streamSignal };
    const { audit, handOver, complete } = createRequestAudit(deps, operation, ctx, principal);
    const call = async (hold: KeyHold | null): Promise<Answer> => {
      const handle = async (): Promise<Answer> => {
        const request = {
          ...base,
          repeated: hold?.repeated ?? false,
          newId: idSource(hold),
          requireHeld: (db: Db) => requireHeld(db, hold),
          audit,
          handOverAudit: handOver,
        };
        const outcome = (await operation.handler(request, handlerDeps)) ?? { status: 204 };
        await complete(outcome, valid.params);
        return outcome;
      };
      return principal === null ? handle() : deps.reads.forCaller(principal.id, operation.method !== "GET", handle);
    };

    // An empty key is refused like any invalid one, because its sender expects protection from a second run.
    const key = ctx.headers["idempotency-key"];
    if (!operation.idempotent || typeof key !== "string" || caller === null) return answer(ctx, await call(null));
    const request = {
      orgId: caller.principal.org_id,
      key,
      operation: operation.id,
      method: ctx.method,
      path: ctx.path,
      search: ctx.search,
      body: operation.sameness ? Buffer.from(JSON.stringify(operation.sameness(valid.body))) : bytes,
      makesRun: operation.idempotent === "run",
      credential: operation.confidential ? caller.credential : null,
    };
    if (operation.idempotent === "claim") {
      const hold = await deps.idempotency.claimOnly(request);
      if (hold.kept) return send(ctx, await hold.kept.replay(await digestOf(ctx, operation, deps.config)));
      const outcome = await call(hold);
      if (operation.multipart && outcome !== "written" && !("content" in outcome))
        await deps.idempotency.keep(request, hold, renderJson(outcome), ctx.state.bodyDigest ?? "");
      return answer(ctx, outcome);
    }
    send(
      ctx,
      await deps.idempotency.once(request, async (hold) => renderOutcome(() => call(hold), ctx.state.requestId)),
    );
  };
}

function validOrPage(
  ctx: RequestContext,
  operation: Operation,
  raw: RawRequest,
  deps: unknown,
): ValidRequest | ContentAnswer {
  try {
    return validateRequest(operation, raw);
  } catch (error) {
    if (operation.invalidPage && error instanceof Problem) return operation.invalidPage(ctx, error, deps);
    throw error;
  }
}

async function admit(ctx: RequestContext, operation: Operation, deps: ServeDeps): Promise<Caller> {
  if (operation.auth === "public" && deps.config.MILLRACE_CORS) allowAnyOrigin(ctx);
  const caller = await authenticate(deps, ctx);
  const { principal } = caller;
  ctx.state.principal = principal;
  await turnOf(principal.org_id);
  await count(ctx, deps, principal.id);
  authorise(principal, operation);
  return caller;
}

/** Counts one request of a caller against the rate limit. Throws the 429. */
async function count(ctx: RequestContext, { rateLimiter }: ServeDeps, caller: string): Promise<void> {
  if (rateLimiter) ctx.set(await rateLimiter.take(caller));
}

async function readRequest(
  ctx: RequestContext,
  operation: Operation,
  config: Config,
): Promise<{ body: unknown; rounded?: unknown; bytes: Buffer }> {
  const sendsBytes = operation.bytes !== undefined && mediaType(ctx.req) === operation.bytes;
  const sendsForm = !sendsBytes && operation.multipart && (!operation.body || isMultipart(ctx.req));
  if (sendsBytes) checkEncoding(ctx.req);
  if (sendsForm) boundaryOf(ctx.req);
  if (sendsBytes || sendsForm || !operation.body) return { body: undefined, bytes: Buffer.alloc(0) };
  const limit = operation.bodyLimit === "run" ? config.MILLRACE_RUN_BODY_LIMIT_BYTES : config.MILLRACE_JSON_LIMIT_BYTES;
  const { value, rounded, bytes } = await readJson(ctx.req, {
    limit,
    maxValues: operation.wideBody ? MAX_WIDE_JSON_VALUES : MAX_JSON_VALUES,
    looseTop: operation.looseBody ?? false,
    ...(operation.textsIn && { textsIn: operation.textsIn }),
  });
  if (operation.multipart && value === undefined) {
    const types = ["application/json", "multipart/form-data", ...(operation.bytes ? [operation.bytes] : [])];
    throw new Problem("unsupported_media_type", `The content type must be ${types.join(" or ")}.`);
  }
  return { body: value, rounded, bytes };
}

/** Digest of a body that no other code reads; "" for JSON, which the request already has. */
async function digestOf(ctx: RequestContext, { multipart, bytes }: Operation, config: Config): Promise<string> {
  const limit = config.MILLRACE_UPLOAD_LIMIT_BYTES;
  if (bytes !== undefined && mediaType(ctx.req) === bytes) await readBody(ctx, limit);
  else if (multipart !== undefined && isMultipart(ctx.req)) {
    const handling = { take: ({ content }: UploadedFile) => drain(content), undo: async () => undefined };
    await readMultipart(ctx, multipart, { maxFileBytes: limit, maxFiles: MAX_FILES }, handling);
  }
  return ctx.state.bodyDigest ?? "";
}

async function drain(content: AsyncIterable<Uint8Array>): Promise<void> {
  const chunks = content[Symbol.asyncIterator]();
  while ((await chunks.next()).done !== true);
}

/** The first ID is the one stored with the Idempotency-Key. */
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

/** A Problem is a response and is stored as one; other errors are rethrown. */
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

/** Aborts with the client's own signal, and once the same request would now be refused. */
function endOfStream(
  ctx: RequestContext,
  gone: AbortSignal,
  operation: Operation,
  deps: ServeDeps,
  valid: ReturnType<typeof validateRequest>,
): AbortSignal {
  const end = linkAbort([gone]);
  const timer = setInterval(async () => {
    // The streams of a burst are due at the same time.
    await nextSlice(ctx.state.principal?.org_id);
    if (ctx.res.closed) return clearInterval(timer);
    try {
      if (operation.auth === "none") await operation.admit?.(ctx, async () => undefined, operation.depsOf(deps));
      else {
        const { principal } = await authenticate(deps, ctx);
        authorise(principal, operation);
        await requireProjects(deps.db, principal, operation, valid);
      }
    } catch (error) {
      // An unavailable database does not mean that the credential is invalid.
      if (error instanceof Problem && REFUSALS.includes(error.status)) end.abort();
    }
  }, READMIT_EVERY_MS);
  timer.unref();
  return end.signal;
}

function answer(ctx: RequestContext, outcome: Answer): void {
  if (outcome === "written") return;
  if (!("content" in outcome)) return send(ctx, renderJson(outcome));
  ctx.status = outcome.status;
  ctx.set({ "Content-Type": outcome.type, ...outcome.headers });
  ctx.body = outcome.content;
}
