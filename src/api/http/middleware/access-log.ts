import type { Middleware } from "koa";
import type { Logger } from "../../../platform/logging/logger.ts";
import type { Metrics } from "../../../platform/metrics.ts";
import type { RequestState } from "../operation.ts";

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
