import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";
import type { Config } from "../../config.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import type { RequestContext } from "./operation.ts";

/**
 * The URL that clients use to reach Millrace, without a slash at its end: the configured one, otherwise this machine's. The Host header is
 * never used, because the client controls it.
 */
export function baseUrl(config: Config, ctx: RequestContext): string {
  const configured = config.MILLRACE_PUBLIC_URL?.replace(/(?<!\/)\/+$/, "");
  return configured ?? `http://localhost:${ctx.req.socket.localPort}`;
}

/**
 * The address a request comes from: the socket's. If that is a configured proxy, it is the last address of
 * X-Forwarded-For that is not a proxy. Without configured proxies no header is trusted.
 */
export function clientAddress(req: IncomingMessage, trustedProxies: readonly string[]): string {
  const forwarded = String(req.headers["x-forwarded-for"] ?? "").slice(0, 2048);
  const hops = [...forwarded.split(",").map((hop) => hop.trim()), req.socket.remoteAddress ?? ""].filter(
    (hop) => hop !== "",
  );
  let address = hops.pop() ?? "";
  while (isInRanges(address, trustedProxies)) {
    const previous = hops.pop();
    if (previous === undefined || !ipaddr.isValid(previous)) break;
    address = previous;
  }
  return normalise(address);
}

/** Whether an address is in a list of addresses and networks (CIDR). */
export function isInRanges(address: string, ranges: readonly string[]): boolean {
  if (ranges.length === 0 || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some((each) => {
    const range = ipaddr.isValidCIDR(each) ? ipaddr.parseCIDR(each) : null;
    if (range) return range[0].kind() === parsed.kind() && parsed.match(range);
    return ipaddr.isValid(each) && ipaddr.process(each).toString() === parsed.toString();
  });
}

function normalise(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : "unknown";
}

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
