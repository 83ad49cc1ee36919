import { describe, expect, it } from "vitest";
import { createAddressPolicy, isPublicAddress } from "../../src/platform/fetch/address-policy.ts";

const PUBLIC = [
  "8.8.8.8",
  "93.184.216.34",
  "172.15.255.255",
  "172.32.0.0",
  "168.63.129.17",
  "2606:4700:4700::1111",
  "2a00:1450:4001::200e",
];

const PRIVATE: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.1", "127.255.255.254", "::1"],
  unspecified: ["0.0.0.0", "0.1.2.3", "::"],
  rfc1918: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
  "link-local and metadata": ["169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0"],
  "inside a cloud": ["168.63.129.16", "161.26.0.10", "166.9.48.1", "192.80.8.124"],
  "carrier-grade NAT": ["100.64.0.1", "100.127.255.255", "100.100.100.200"],
  "multicast and broadcast": ["224.0.0.1", "239.255.255.255", "255.255.255.255", "ff02::1"],
  "reserved and documentation": [
    "192.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "240.0.0.1",
    "2001:db8::1",
  ],
  "unique local": ["fc00::1", "fd00:ec2::254"],
  "IPv4-mapped": ["::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.8.8", "::ffff:7f00:1"],
  "IPv4-compatible": ["::127.0.0.1", "::7f00:1", "::8.8.8.8"],
  "IPv4-translated": ["::ffff:0:127.0.0.1"],
  NAT64: ["64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::1"],
  "6to4": ["2002:7f00:1::", "2002:a9fe:a9fe::1"],
  Teredo: ["2001:0:4136:e378:8000:63bf:3fff:fdd2"],
  "site-local and discard": ["fec0::1", "100::1"],
  "not an address": ["", "localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "1.2.3.4.5", "8.8.8.8/32"],
};

describe("ssrf: isPublicAddress", () => {
  it.each(PUBLIC)("is true for %s", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  for (const [group, addresses] of Object.entries(PRIVATE)) {
    it.each(addresses)(`is false for ${group}: "%s"`, (address) => {
      expect(isPublicAddress(address)).toBe(false);
      expect(createAddressPolicy([]).allows("example.com", 443, address)).toBe(false);
    });
  }
});

describe("the allow-list", () => {
  it("allows a name, in any case and with a final dot, on every port", () => {
    const policy = createAddressPolicy(["Internal.Example"]);
    expect(policy.allows("internal.example", 80, "10.0.0.1")).toBe(true);
    expect(policy.allows("INTERNAL.example.", 8443, "10.0.0.1")).toBe(true);
    expect(policy.allows("other.example", 80, "10.0.0.1")).toBe(false);
    expect(policy.allows("a.internal.example", 80, "10.0.0.1")).toBe(false);
  });

  it("allows an entry with a port on that port only", () => {
    const policy = createAddressPolicy(["internal.example:8080", "10.0.0.5:443", "[fd00::5]:443"]);
    expect(policy.allows("internal.example", 8080, "10.0.0.1")).toBe(true);
    expect(policy.allows("internal.example", 80, "10.0.0.1")).toBe(false);
    expect(policy.allows("any.example", 443, "10.0.0.5")).toBe(true);
    expect(policy.allows("any.example", 80, "10.0.0.5")).toBe(false);
    expect(policy.allows("[fd00::5]", 443, "fd00::5")).toBe(true);
    expect(policy.allows("[fd00::5]", 444, "fd00::5")).toBe(false);
  });

  it("allows ranges and single addresses by the addresses that a name resolves to", () => {
    const policy = createAddressPolicy(["10.1.0.0/16", "fd00::/8", "192.168.0.7", "fc00::9"]);
    expect(policy.allows("any.example", 80, "10.1.255.1")).toBe(true);
    expect(policy.allows("any.example", 80, "10.2.0.1")).toBe(false);
    expect(policy.allows("any.example", 80, "fd12::1")).toBe(true);
    expect(policy.allows("any.example", 80, "192.168.0.7")).toBe(true);
    expect(policy.allows("any.example", 80, "192.168.0.8")).toBe(false);
    expect(policy.allows("any.example", 80, "fc00::9")).toBe(true);
    expect(policy.allows("any.example", 80, "::ffff:10.1.0.1")).toBe(false);
  });

  it("reads loopback as 127.0.0.0/8 and ::1 only", () => {
    const policy = createAddressPolicy(["loopback"]);
    expect(policy.allows("localhost", 1234, "127.0.0.1")).toBe(true);
    expect(policy.allows("127.8.8.8", 1234, "127.8.8.8")).toBe(true);
    expect(policy.allows("::1", 1234, "::1")).toBe(true);
    expect(policy.allows("localhost", 1234, "10.0.0.1")).toBe(false);
    expect(policy.allows("loopback", 1234, "0.0.0.0")).toBe(false);
    expect(policy.allows("loopback", 1234, "::ffff:127.0.0.1")).toBe(false);
  });

  it.each([
    "",
    "http://a.example",
    "a b",
    "a.example:99999",
    "a.example:0",
    "10.0.0.0/99",
    "user@a.example",
    "*.example",
  ])('rejects the entry "%s" when the list is read', (entry) => {
    expect(() => createAddressPolicy([entry])).toThrow(`"${entry}"`);
  });
});
