import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";

/**
 * The address a request comes from: the socket's, or, where that is a configured proxy, the last address of
 * X-Forwarded-For that is not one. Without configured proxies no header is trusted.
 */
export function clientAddress(req: IncomingMessage, trustedProxies: readonly string[]): string {
  const forwarded = String(req.headers["x-forwarded-for"] ?? "").slice(0, 2048);
  const hops = [...forwarded.split(",").map((hop) => hop.trim()), req.socket.remoteAddress ?? ""].filter(
    (hop) => hop !== "",
  );
  let address = hops.pop() ?? "";
  while (isTrusted(address, trustedProxies)) {
    const previous = hops.pop();
    if (previous === undefined || !ipaddr.isValid(previous)) break;
    address = previous;
  }
  return normalise(address);
}

function isTrusted(address: string, proxies: readonly string[]): boolean {
  if (proxies.length === 0 || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return proxies.some((proxy) => {
    const range = ipaddr.isValidCIDR(proxy) ? ipaddr.parseCIDR(proxy) : null;
    if (range) return range[0].kind() === parsed.kind() && parsed.match(range);
    return ipaddr.isValid(proxy) && ipaddr.process(proxy).toString() === parsed.toString();
  });
}

function normalise(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : "unknown";
}
