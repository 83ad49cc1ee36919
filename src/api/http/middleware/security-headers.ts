import type { Middleware } from "koa";
import type { RequestState } from "../operation.ts";

/** Headers for every answer: nobody else may cache it, guess its type or frame it. Operations may set their own. */
export function securityHeaders(publicUrl: string | undefined): Middleware<RequestState> {
  const isSecure = publicUrl?.startsWith("https:") ?? false;
  return async function securityHeaders(ctx, next) {
    ctx.set("Cache-Control", "no-store");
    ctx.set("X-Content-Type-Options", "nosniff");
    ctx.set("Referrer-Policy", "no-referrer");
    ctx.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    // A page of another origin neither shares a window with ours nor embeds an answer. Pages that CORS admits can
    // still read it.
    ctx.set("Cross-Origin-Opener-Policy", "same-origin");
    ctx.set("Cross-Origin-Resource-Policy", "same-origin");
    // Only if clients come by https: otherwise the header would lead a browser to an address that does not exist.
    if (isSecure) ctx.set("Strict-Transport-Security", "max-age=31536000");
    await next();
  };
}
