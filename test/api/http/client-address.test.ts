import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { clientAddress } from "../../../src/api/http/addresses.ts";

function from(remoteAddress: string, forwarded?: string): IncomingMessage {
  return { socket: { remoteAddress }, headers: { "x-forwarded-for": forwarded } } as unknown as IncomingMessage;
}

describe("trusted-header: the client address of a request", () => {
  it.each([
    ["the socket's, regardless of headers", "203.0.113.9", "10.0.0.1", [], "203.0.113.9"],
    ["the socket's when that is no proxy", "203.0.113.9", "10.0.0.1", ["10.0.0.0/8"], "203.0.113.9"],
    ["what the proxy saw", "10.0.0.1", "198.51.100.7", ["10.0.0.0/8"], "198.51.100.7"],
    ["the last that is no proxy", "10.0.0.1", "1.1.1.1, 198.51.100.7, 10.9.9.9", ["10.0.0.0/8"], "198.51.100.7"],
    ["an IPv4 address inside an IPv6 one", "::ffff:10.0.0.1", "198.51.100.7", ["10.0.0.0/8"], "198.51.100.7"],
    ["an IPv6 address", "fd00::1", "2001:db8::5", ["fd00::/8"], "2001:db8::5"],
    ["the proxy's where the header is nonsense", "10.0.0.1", "<script>", ["10.0.0.0/8"], "10.0.0.1"],
    ["the proxy's where there is no header", "10.0.0.1", undefined, ["10.0.0.1"], "10.0.0.1"],
  ])("is %s", (_, socket, header, proxies, expected) => {
    expect(clientAddress(from(socket, header), proxies)).toBe(expected);
  });
});
