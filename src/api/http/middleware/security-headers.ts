import type { Middleware } from "koa";
import type { RequestState } from "../operation.ts";

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
