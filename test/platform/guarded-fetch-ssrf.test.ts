import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { FetchFailed, FetchRefused } from "../../src/platform/fetch/guarded-fetch-errors.ts";
import { createGuardedSockets } from "../../src/platform/fetch/guarded-sockets.ts";
import { fetchAdapter } from "../../src/platform/fetch/fetch-adapter.ts";
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
} from "../../src/platform/fetch/guarded-fetch.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";

let target: HttpTarget;
const opened: GuardedFetch[] = [];

function guard(options: Partial<GuardedFetchOptions> = {}): GuardedFetch {
  const guarded = createGuardedFetch({ allow: [], ...options });
  opened.push(guarded);
  return guarded;
}

/** Returns the given lists one by one, and then always the last one. */
function resolver(...answers: ReadonlyArray<readonly string[]>) {
  const asked: string[] = [];
  const resolve = async (host: string) => {
    asked.push(host);
    return answers[Math.min(asked.length, answers.length) - 1] ?? [];
  };
  return { asked, resolve };
}

beforeAll(async () => {
  // Listens on all of 127.0.0.0/8, so that a test sees which address was used.
  target = await startHttpTarget({ host: "0.0.0.0" });
});
afterAll(() => target.close());
afterEach(async () => {
  target.reset();
  await Promise.all(opened.splice(0).map((guarded) => guarded.close()));
});

describe("ssrf: without an allow-list", () => {
  it.each([
    ["loopback", "127.0.0.1"],
    ["loopback by name", "localhost"],
    ["loopback by a short form", "127.1"],
    ["decimal", "2130706433"],
    ["octal", "0177.0.0.1"],
    ["hexadecimal", "0x7f.0.0.1"],
    ["hexadecimal as one number", "0x7f000001"],
    ["full-width digits", "１２７.0.0.1"],
    ["encoded", "%31%32%37.0.0.1"],
    ["ideographic stops", "127。0。0。1"],
    ["unspecified", "0.0.0.0"],
    ["unspecified, short", "0"],
    ["IPv6 loopback", "[::1]"],
    ["IPv6 unspecified", "[::]"],
    ["IPv4-mapped", "[::ffff:127.0.0.1]"],
    ["IPv4-mapped in hexadecimal", "[::ffff:7f00:1]"],
    ["IPv4-compatible", "[::127.0.0.1]"],
    ["NAT64", "[64:ff9b::7f00:1]"],
    ["metadata", "169.254.169.254"],
    ["metadata in decimal", "2852039166"],
    ["metadata, IPv4-mapped", "[::ffff:169.254.169.254]"],
    ["RFC 1918", "192.168.0.1"],
  ])("refuses %s (%s)", async (_name, host) => {
    const url = `http://${host}:${target.port}/echo`;
    for (const send of [guard().fetch, guard().open, async () => fetchAdapter(guard())(url)]) {
      await expect(send({ url })).rejects.toMatchObject({
        name: "FetchRefused",
        code: "address_not_allowed",
        retryable: false,
      });
    }
    // The host is not parsed as in a URL, so a name that no resolver knows cannot be reached either.
    const connecting = createGuardedSockets({ allow: [] }).connect({ host, port: target.port });
    await expect(connecting).rejects.toMatchObject({
      code: expect.stringMatching(/^(address_not_allowed|dns_failed)$/),
    });
    expect(target.requests).toHaveLength(0);
    expect(target.connections()).toBe(0);
  });

  it.each([
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
    "ftp://example.com/",
    "data:text/plain,x",
    "javascript:1",
    "unix:/run/x",
  ])("refuses the scheme of %s", async (url) => {
    await expect(guard().fetch({ url })).rejects.toMatchObject({ code: "scheme_not_allowed" });
  });

  it.each([
    "",
    "not a url",
    "http://",
    "http://a b/",
    "http://exa\nmple.com/",
    "http://example.com/\r\nX: y",
    "//example.com/",
  ])("refuses %j as an invalid URL", async (url) => {
    await expect(guard().fetch({ url })).rejects.toMatchObject({ code: "invalid_url" });
  });

  it("refuses a user and password in the URL without repeating them", async () => {
    const failure = guard({ allow: ["loopback"] }).fetch({ url: `http://anna:hunter2@127.0.0.1:${target.port}/` });
    await expect(failure).rejects.toMatchObject({ code: "credentials_in_url" });
    await expect(failure).rejects.not.toThrow(/hunter2|anna/);
  });

  it("does not reveal the private address behind a name", async () => {
    const { resolve } = resolver(["10.11.12.13"]);
    const error: unknown = await guard({ resolve })
      .fetch({ url: "http://inside.example/?token=abc" })
      .catch((e) => e);
    expect(error).toBeInstanceOf(FetchRefused);
    expect(String(error)).toContain("inside.example");
    expect(String(error)).not.toMatch(/10\.11|abc/);
  });
});

describe("ssrf: DNS rebinding", () => {
  it("connects to the address that was checked, after one lookup", async () => {
    const { asked, resolve } = resolver(["127.0.0.5"], ["127.0.0.66"]);
    const guarded = guard({ resolve, allow: ["127.0.0.5"] });
    const answer = await guarded.fetch({ url: `http://rebind.example:${target.port}/echo` });
    expect(answer.status).toBe(200);
    expect(asked).toEqual(["rebind.example"]);
    expect(target.requests[0]?.localAddress).toBe("127.0.0.5");
    expect(target.requests[0]?.headers["host"]).toBe(`rebind.example:${target.port}`);
  });

  it("refuses the name after it moves to a private address", async () => {
    const { resolve } = resolver(["127.0.0.5"], ["127.0.0.66"]);
    const guarded = guard({ resolve, allow: ["127.0.0.5"] });
    const url = `http://rebind.example:${target.port}/close`;
    target.on("/close", (_request, response) => void response.writeHead(200, { connection: "close" }).end());
    await guarded.fetch({ url });
    await expect(guarded.fetch({ url })).rejects.toMatchObject({ code: "address_not_allowed" });
    expect(target.requests).toHaveLength(1);
  });

  it("never connects to a private address that is returned beside an allowed one", async () => {
    const { resolve } = resolver(["127.0.0.66", "127.0.0.5", "::1"]);
    const guarded = guard({ resolve, allow: ["127.0.0.5"] });
    await guarded.fetch({ url: `http://mixed.example:${target.port}/echo` });
    expect(target.requests.map((request) => request.localAddress)).toEqual(["127.0.0.5"]);
  });

  it("does not ask a resolver about an IP address in a URL", async () => {
    const { asked, resolve } = resolver(["8.8.8.8"]);
    await expect(guard({ resolve }).fetch({ url: `http://127.0.0.1:${target.port}/echo` })).rejects.toMatchObject({
      code: "address_not_allowed",
    });
    expect(asked).toEqual([]);
  });

  it("tries the next allowed address if one does not respond", async () => {
    const other = await startHttpTarget({ host: "127.0.0.9" });
    const { resolve } = resolver(["127.0.0.8", "127.0.0.9"]);
    const guarded = guard({ resolve, allow: ["loopback"] });
    await expect(guarded.fetch({ url: `http://two.example:${other.port}/echo` })).resolves.toMatchObject({
      status: 200,
    });
    await other.close();
  });
});

describe("ssrf: the allow-list", () => {
  it("with loopback allows localhost too", async () => {
    const guarded = guard({ allow: ["loopback"] });
    for (const host of ["127.0.0.1", "localhost", "0x7f.1"]) {
      await expect(guarded.fetch({ url: `http://${host}:${target.port}/echo` })).resolves.toMatchObject({
        status: 200,
      });
    }
  });

  it("allows one port of one host and no other", async () => {
    const other = await startHttpTarget();
    const guarded = guard({ allow: [`127.0.0.1:${target.port}`] });
    await expect(guarded.fetch({ url: `http://127.0.0.1:${target.port}/` })).resolves.toMatchObject({ status: 200 });
    await expect(guarded.fetch({ url: other.url })).rejects.toMatchObject({ code: "address_not_allowed" });
    expect(other.requests).toHaveLength(0);
    await other.close();
  });
});

describe("a host that cannot be reached", () => {
  it("fails if the name has no address", async () => {
    const failing = async () =>
      Promise.reject(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" }));
    for (const resolve of [failing, async () => []]) {
      const failure = guard({ resolve }).fetch({ url: "http://nowhere.example/?password=hunter2" });
      await expect(failure).rejects.toMatchObject({ name: "FetchFailed", code: "dns_failed", retryable: true });
      await expect(failure).rejects.not.toThrow(/hunter2/);
    }
  });

  it("fails in time if the resolver does not respond", async () => {
    const guarded = guard({ resolve: async () => new Promise(() => undefined), connectMs: 50 });
    await expect(guarded.fetch({ url: "http://slow.example/" })).rejects.toMatchObject({
      code: "timeout",
      retryable: true,
    });
  });

  it("fails if nothing listens, without revealing the address behind the name", async () => {
    const gone = await startHttpTarget();
    await gone.close();
    const { resolve } = resolver(["127.0.0.1"]);
    const guarded = guard({ resolve, allow: ["loopback"] });
    const error: unknown = await guarded.fetch({ url: `http://gone.example:${gone.port}/` }).catch((e) => e);
    expect(error).toBeInstanceOf(FetchFailed);
    expect(error).toMatchObject({ code: "connection_failed", retryable: true });
    expect(String(error)).toContain("ECONNREFUSED");
    expect(String(error)).not.toContain("127.0.0.1");
  });
});
