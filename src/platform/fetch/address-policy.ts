import ipaddr from "ipaddr.js";

type Address = ReturnType<typeof ipaddr.parse>;

/** Which addresses outbound connections may reach. */
export interface AddressPolicy {
  /**
   * Whether a connection to `address` (an IP literal) may be opened for a URL whose host is `host` and port is `port`. Public unicast
   * addresses are always allowed, all others only by an entry of the allow-list.
   */
  allows(host: string, port: number, address: string): boolean;
}

interface Rule {
  readonly port: number | undefined;
  /** A range of addresses, or the name a URL must carry. */
  readonly target: { readonly range: [Address, number] } | { readonly host: string };
}

// All addresses assigned for public unicast are in this range; ipaddr.js has no name for what is outside (for example IPv4-compatible
// ::/96).
const GLOBAL_UNICAST = ipaddr.parseCIDR("2000::/3");
/**
 * Public addresses that only machines of a cloud can reach: Azure's host, IBM's services, Equinix' metadata. Those of other clouds are
 * link-local, shared or unique local.
 */
const INSIDE_CLOUDS = ["168.63.129.16/32", "161.26.0.0/16", "166.8.0.0/14", "192.80.8.124/32"].map((range) =>
  ipaddr.parseCIDR(range),
);
const LOOPBACK = ["127.0.0.0/8", "::1/128"];

/**
 * Whether an IP literal is a public unicast address. Every form that carries another address inside (IPv4-mapped and
 * -compatible, NAT64, 6to4, Teredo) counts as private, as its final destination is unknown.
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === undefined || parsed.range() !== "unicast") return false;
  if (INSIDE_CLOUDS.some((range) => inRange(parsed, range))) return false;
  return parsed.kind() === "ipv4" || inRange(parsed, GLOBAL_UNICAST);
}

/**
 * Builds the policy from the allow-list of the configuration. Entries: `host`, `host:port`, an address, `[v6]:port`, a
 * CIDR range, or `loopback` (127.0.0.0/8 and ::1, so also localhost). A host entry allows every address the name resolves to.
 * Throws an Error that names the entry when one cannot be read.
 */
export function createAddressPolicy(allow: readonly string[]): AddressPolicy {
  const rules = allow.flatMap(parseEntry);
  return {
    allows(host, port, address) {
      if (isPublicAddress(address)) return true;
      const parsed = parseAddress(address);
      if (parsed === undefined) return false;
      const name = plainHost(host);
      return rules.some(
        (rule) =>
          (rule.port === undefined || rule.port === port) &&
          ("range" in rule.target ? inRange(parsed, rule.target.range) : rule.target.host === name),
      );
    },
  };
}

/** A URL's hostname in the form in which it is compared and resolved: no brackets, no final dot, lower case. */
export function plainHost(hostname: string): string {
  return hostname
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase();
}

function parseEntry(entry: string): Rule[] {
  if (entry === "loopback") {
    return LOOPBACK.map((range) => ({ port: undefined, target: { range: ipaddr.parseCIDR(range) } }));
  }
  if (entry.includes("/")) {
    if (!ipaddr.isValidCIDR(entry)) throw unreadable(entry);
    return [{ port: undefined, target: { range: ipaddr.parseCIDR(entry) } }];
  }
  const withPort = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(entry);
  const port = withPort === null ? undefined : Number(withPort[2]);
  const literal = withPort?.[1] ?? entry;
  const host = urlHost(literal.includes(":") && !literal.startsWith("[") ? `[${literal}]` : literal);
  if (host === undefined || (port !== undefined && (port < 1 || port > 65_535))) throw unreadable(entry);
  const address = parseAddress(host);
  if (address === undefined) return [{ port, target: { host } }];
  return [{ port, target: { range: [address, address.kind() === "ipv4" ? 32 : 128] } }];
}

// Hosts of the list and of requests must be spelled alike, so both go through the URL parser.
function urlHost(literal: string): string | undefined {
  const text = `http://${literal}/`;
  if (/[\s@?#\\*]/.test(literal) || !URL.canParse(text)) return undefined;
  return plainHost(new URL(text).hostname);
}

function unreadable(entry: string): Error {
  return new Error(
    `"${entry}" is not a private host that can be allowed: write a host, host:port, an IP address, a CIDR range or "loopback".`,
  );
}

function parseAddress(text: string): Address | undefined {
  // ipaddr.js also reads "127.1" or "0x7f000001"; resolvers never return these, and the URL parser normalises literals.
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return undefined;
  return ipaddr.parse(text);
}

function inRange(address: Address, [range, bits]: [Address, number]): boolean {
  return address.kind() === range.kind() && address.match(range, bits);
}
