import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";

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
