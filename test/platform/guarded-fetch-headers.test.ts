import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createGuardedFetch, type GuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";

let target: HttpTarget;
let guarded: GuardedFetch;

beforeAll(async () => {
  target = await startHttpTarget();
  guarded = createGuardedFetch({ allow: ["loopback"] });
});
afterEach(() => target.reset());
afterAll(async () => {
  await guarded.close();
  await target.close();
});

describe("crlf: request headers", () => {
  it.each(["a\r\nX-Injected: 1", "a\nb", "a\rb", "a\0b", "a\u010ab", "a\u{1f600}b", "a\u007fb"])(
    "refuses the value %j",
    async (value) => {
      const failure = guarded.fetch({ url: `${target.url}/echo`, headers: { "X-Test": value } });
      await expect(failure).rejects.toMatchObject({
        name: "FetchRefused",
        code: "invalid_header",
        message: expect.stringContaining("x-test"),
      });
      expect(target.requests).toHaveLength(0);
    },
  );

  it.each(["", "a b", "a:b", "a\r\nb", "ä", "a\0"])("refuses the name %j", async (name) => {
    await expect(guarded.fetch({ url: target.url, headers: { [name]: "x" } })).rejects.toMatchObject({
      code: "invalid_header",
    });
  });

  it.each(["Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "TE", "Expect"])(
    "refuses %s, because it frames the message",
    async (name) => {
      await expect(guarded.fetch({ url: target.url, headers: { [name]: "1" } })).rejects.toMatchObject({
        code: "invalid_header",
      });
    },
  );

  it("refuses a header that is set twice in different case", async () => {
    const headers = { "X-Test": "1", "x-test": "2" };
    await expect(guarded.fetch({ url: target.url, headers })).rejects.toMatchObject({ code: "invalid_header" });
  });

  it.each(["CONNECT", "TRACE", "GET / HTTP/1.1\r\nX:", "", "BREW"])("refuses the method %j", async (method) => {
    await expect(guarded.fetch({ url: target.url, method })).rejects.toMatchObject({ code: "invalid_method" });
  });

  it("sends allowed methods, headers and bodies unchanged", async () => {
    const headers = { "X-Test": "tab\tand blank", "X-Latin": "caf\u00e9" };
    await guarded.fetch({ url: `${target.url}/echo?q=1`, method: "post", headers, body: "héllo" });
    expect(target.requests[0]).toMatchObject({ method: "POST", url: "/echo?q=1", body: "héllo" });
    expect(target.requests[0]?.headers["x-test"]).toBe("tab\tand blank");
    expect(target.requests[0]?.headers["x-latin"]).toBe("caf\u00e9");
  });
});

describe("proto-pollution: response headers", () => {
  it("are stored in an object without a prototype", async () => {
    target.on("/odd", (_request, response, socket) => {
      response.detachSocket(socket);
      socket.end("HTTP/1.1 200 OK\r\n__proto__: polluted\r\nconstructor: x\r\nContent-Length: 0\r\n\r\n");
    });
    const answer = await guarded.fetch({ url: `${target.url}/odd` });
    expect(answer.status).toBe(200);
    expect(Object.getPrototypeOf(answer.headers)).toBeNull();
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("connections of the guarded fetch", () => {
  it("are reused for the next request to the same origin", async () => {
    const fresh = await startHttpTarget();
    for (let i = 0; i < 10; i += 1) await guarded.fetch({ url: fresh.url });
    // Two, because undici may open a second connection while the first one is still being released.
    expect(fresh.connections()).toBeLessThanOrEqual(2);
    await fresh.close();
  });
});
