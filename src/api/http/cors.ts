import type { RequestContext } from "./operation.ts";

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
export function answerPreflight(ctx: RequestContext, methods: readonly string[]): void {
  allowAnyOrigin(ctx);
  ctx.set("Access-Control-Allow-Methods", methods.join(", "));
  ctx.set("Access-Control-Allow-Headers", ALLOWED);
  ctx.set("Access-Control-Max-Age", "86400");
}
