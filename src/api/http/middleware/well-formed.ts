import type { Middleware } from "koa";
import { Problem } from "../../../domain/errors.ts";
import type { RequestState } from "../operation.ts";

/**
 * Refuses requests that break the rules of HTTP. The server leaves them to this middleware, so that they are answered
 * like any other.
 */
export function wellFormed(): Middleware<RequestState> {
  return async function wellFormed(ctx, next) {
    const { host, expect } = ctx.headers;
    const headers = { Connection: "close" };
    if (host === undefined && ctx.req.httpVersion === "1.1")
      throw new Problem("bad_request", "A request of HTTP/1.1 has a Host header.", { headers });
    // Node keeps the first; a proxy in front may have used another one.
    const hosts = ctx.req.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host");
    if (hosts.length > 1) throw new Problem("bad_request", "A request has one Host header.", { headers });
    if (expect !== undefined && expect.toLowerCase() !== "100-continue")
      throw new Problem("expectation_failed", "Of expectations, only 100-continue can be met.", { headers });
    await next();
  };
}
