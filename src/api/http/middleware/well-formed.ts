import type { Middleware } from "koa";
import { Problem } from "../../../domain/errors.ts";
import type { RequestState } from "../operation.ts";

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
