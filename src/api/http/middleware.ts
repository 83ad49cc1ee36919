import type { Middleware } from "koa";
import { uuidv7 } from "uuidv7";
import type { RouterContext } from "@koa/router";
import type { Logger } from "../../platform/logging/logger.ts";
import type { Metrics } from "../../platform/metrics.ts";
import { withinSpan } from "../../platform/tracing/current.ts";
import { isSampled, parseTraceparent, randomSpanId, randomTraceId } from "../../platform/tracing/trace-context.ts";
import type { Tracer } from "../../platform/tracing/tracer.ts";
import { Problem } from "../../domain/errors.ts";
import type { RequestState, Operation, RequestContext } from "./operation.ts";
import { renderProblem, toProblem, send } from "./render.ts";

/** The logged status if the client disconnected before the response was complete. */
const CLIENT_GONE = 499;

/** Writes a line and a measurement for each request, under its operation's id (never its address: that is unbounded). */
export function accessLog(logger: Logger, metrics: Metrics): Middleware<RequestState> {
  return async function accessLog(ctx, next) {
    const start = performance.now();
    ctx.res.once("close", () => {
      const ms = performance.now() - start;
      const { operationId = "unmatched", principal, requestId } = ctx.state;
      const status = ctx.res.writableFinished ? ctx.res.statusCode : CLIENT_GONE;
      metrics.httpRequest({ operation: operationId, status }, ms / 1000);
      const line = {
        ...ctx.state.trace,
        request_id: requestId,
        operation: operationId,
        method: ctx.method,
        path: loggable(ctx.path),
        status,
        ms: Math.round(ms),
        org_id: principal?.org_id,
        principal: principal?.id,
      };
      if (status >= 500) logger.warn(line, "request");
      else logger.info(line, "request");
    });
    await next();
  };
}

/** Without the query, which may contain users' texts, and without the secret in the URL of an inbound webhook or a page. */
function loggable(path: string): string {
  return path
    .replace(/^\/hooks\/.*/i, "/hooks/[redacted]")
    .replace(/^\/f\/[\w-]{43}/i, "/f/[redacted]")
    .slice(0, 512);
}

const ACCEPTED = /^[A-Za-z0-9._-]{1,128}$/;

/** Gives every request an ID (the client's own if it is harmless in a log line), and returns it in the response. */
export function requestId(): Middleware<RequestState> {
  return async function requestId(ctx, next) {
    const given = ctx.get("x-request-id");
    ctx.state.requestId = ACCEPTED.test(given) ? given : uuidv7();
    ctx.set("X-Request-Id", ctx.state.requestId);
    await next();
  };
}

/**
 * Makes a span for each request of an operation, in the caller's trace if there is one. Runs it starts belong to the
 * same trace.
 */
export function tracing(tracer: Tracer): Middleware<RequestState> {
  return async function tracing(ctx, next) {
    const caller = parseTraceparent(ctx.headers["traceparent"]);
    const trace_id = caller?.trace_id ?? randomTraceId();
    const sampled = caller?.sampled ?? isSampled(trace_id, tracer.ratio);
    const span_id = randomSpanId();
    const start_ms = Date.now();
    ctx.state.trace = { trace_id, span_id };
    if (sampled) {
      ctx.res.once("close", () => {
        const { operationId, principal } = ctx.state;
        // A URL that no operation serves may contain anything, so it is not recorded.
        if (operationId === undefined) return;
        const status = ctx.res.statusCode;
        const route = String((ctx as unknown as RouterContext)._matchedRoute ?? operationId);
        tracer.emit({
          trace_id,
          span_id,
          parent_id: caller?.span_id ?? null,
          name: `${ctx.method} ${route}`,
          kind: "server",
          start_ms,
          end_ms: Date.now(),
          error: status >= 500 ? String(status) : undefined,
          attributes: {
            "http.request.method": ctx.method,
            "http.route": route,
            "http.response.status_code": status,
            "millrace.operation.id": operationId,
            "millrace.request.id": ctx.state.requestId,
            "millrace.org.id": principal?.org_id,
          },
        });
      });
    }
    await withinSpan({ tracer, trace_id, span_id, sampled, outbound: false }, next);
  };
}

/** Headers for every response: other sites may not cache it, guess its type or frame it. Operations may set their own. */
export function securityHeaders(publicUrl: string | undefined): Middleware<RequestState> {
  const isSecure = publicUrl?.startsWith("https:") ?? false;
  return async function securityHeaders(ctx, next) {
    ctx.set("Cache-Control", "no-store");
    ctx.set("X-Content-Type-Options", "nosniff");
    ctx.set("Referrer-Policy", "no-referrer");
    ctx.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    // A page of another origin cannot share a window with ours or embed a response. Pages that CORS allows can still read it.
    ctx.set("Cross-Origin-Opener-Policy", "same-origin");
    ctx.set("Cross-Origin-Resource-Policy", "same-origin");
    // Only if clients use https: otherwise the header would lead a browser to a URL that does not exist.
    if (isSecure) ctx.set("Strict-Transport-Security", "max-age=31536000");
    await next();
  };
}

/** Converts errors to responses: Problems as they define, all others as a bare 500 and a log line. */
export function problems(logger: Logger): Middleware<RequestState> {
  return async function problems(ctx, next) {
    try {
      await next();
    } catch (error) {
      const problem = toProblem(error);
      if (problem !== error && problem.status >= 500) {
        logger.error(
          { err: error, request_id: ctx.state.requestId, operation: ctx.state.operationId },
          "request failed",
        );
      }
      if (ctx.res.headersSent) {
        // A stream that broke off must not look complete.
        ctx.respond = false;
        ctx.res.destroy();
        return;
      }
      send(ctx, renderProblem(problem, ctx.state.requestId));
    }
  };
}

/** Refuses requests that break the rules of HTTP. The server accepts them, so that this middleware can respond as to any other request. */
export function wellFormed(): Middleware<RequestState> {
  return async function wellFormed(ctx, next) {
    const { host, expect } = ctx.headers;
    const headers = { Connection: "close" };
    if (host === undefined && ctx.req.httpVersion === "1.1")
      throw new Problem("bad_request", "An HTTP/1.1 request must have a Host header.", { headers });
    // Node keeps the first value; a proxy in front may have used another one.
    const hosts = ctx.req.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host");
    if (hosts.length > 1) throw new Problem("bad_request", "Send exactly one Host header.", { headers });
    if (expect !== undefined && expect.toLowerCase() !== "100-continue")
      throw new Problem("expectation_failed", "The only supported value of Expect is 100-continue.", { headers });
    await next();
  };
}

/** Responds to requests that no operation serves: OPTIONS, a known path with another method (405), any other path (404). */
export function unmatched(operations: readonly Operation[], cors: boolean): Middleware<RequestState> {
  const crossOrigin = new Set(
    operations.filter((operation) => operation.auth === "public").map((operation) => operation.id),
  );
  return async function unmatched(ctx, next) {
    await next();
    const { matched = [], routeMatched } = ctx as unknown as RouterContext;
    if (routeMatched) return;
    if (matched.length === 0) throw new Problem("not_found", "No operation at this path.");
    const methods = [...new Set(matched.flatMap((layer) => layer.methods)), "OPTIONS"];
    ctx.set("Allow", methods.join(", "));
    if (ctx.method !== "OPTIONS")
      throw new Problem("method_not_allowed", `This path allows only ${methods.join(", ")}.`);
    if (cors && matched.some((layer) => crossOrigin.has(layer.name ?? ""))) answerPreflight(ctx, methods);
    ctx.status = 204;
  };
}

const EXPOSED =
  "X-Request-Id, Location, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed, ETag, Mcp-Session-Id";
const ALLOWED =
  "Authorization, Content-Type, Accept, Idempotency-Key, If-Match, Last-Event-ID, Prefer, X-Request-Id, MCP-Protocol-Version, Mcp-Session-Id";

/** Lets any page read the response: these operations take public keys, and never cookies, so the origin does not matter. */
export function allowAnyOrigin(ctx: RequestContext): void {
  ctx.set("Access-Control-Allow-Origin", "*");
  ctx.set("Access-Control-Expose-Headers", EXPOSED);
}

/** Adds the headers of a response to a preflight request. */
function answerPreflight(ctx: RequestContext, methods: readonly string[]): void {
  allowAnyOrigin(ctx);
  ctx.set("Access-Control-Allow-Methods", methods.join(", "));
  ctx.set("Access-Control-Allow-Headers", ALLOWED);
  ctx.set("Access-Control-Max-Age", "86400");
}
