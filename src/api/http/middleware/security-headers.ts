import type { Middleware } from "koa";
import type { RequestState } from "../operation.ts";

/** Headers for every answer: nothing here is cached by others, guessed at or framed. Operations may set their own. */
export function securityHeaders(): Middleware<RequestState> {
  return async function securityHeaders(ctx, next) {
    ctx.set("Cache-Control", "no-store");
    ctx.set("X-Content-Type-Options", "nosniff");
    ctx.set("Referrer-Policy", "no-referrer");
    ctx.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    await next();
  };
}
