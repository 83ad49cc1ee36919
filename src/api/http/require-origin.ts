import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import type { Config } from "../../config.ts";
import { baseUrl } from "./base-url.ts";
import type { RequestContext } from "./operation.ts";

const LOOPBACK = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/**
 * Throws 403 for a web page of another origin (a DNS name may have been rebound to this server's address), as the Model Context Protocol
 * requires. Public keys, which are for pages, and pages of this machine are exempt.
 */
export function requireOrigin(config: Config, ctx: RequestContext, principal: Principal): void {
  const origin = ctx.get("Origin");
  if (origin === "" || LOOPBACK.test(origin) || origin === new URL(baseUrl(config, ctx)).origin) return;
  if (principal.access === "public" && config.MILLRACE_CORS) return;
  throw new Problem("forbidden", "Web pages of other origins can use only a public key here.");
}
