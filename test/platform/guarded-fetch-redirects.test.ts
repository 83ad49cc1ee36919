import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { redirectHop } from "../../src/platform/fetch/guarded-fetch-request.ts";
import { createGuardedFetch, type GuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";

let target: HttpTarget;
let other: HttpTarget;
let guarded: GuardedFetch;

beforeAll(async () => {
  target = await startHttpTarget();
  other = await startHttpTarget();
  guarded = createGuardedFetch({ allow: [`127.0.0.1:${target.port}`, `127.0.0.1:${other.port}`] });
});
afterEach(() => {
  target.reset();
  other.reset();
});
afterAll(async () => {
  await guarded.close();
  await Promise.all([target.close(), other.close()]);
});

const redirect = (to: string, code = 302) => `${target.url}/redirect?code=${code}&to=${encodeURIComponent(to)}`;

describe("ssrf: redirects", () => {
  it.each([
    ["the metadata service", "http://169.254.169.254/latest/meta-data/", "address_not_allowed"],
    ["the metadata service in decimal", "http://2852039166/", "address_not_allowed"],
    ["a port of the same host that is not allowed", "http://127.0.0.1:1/", "address_not_allowed"],
    ["a file", "file:///etc/passwd", "scheme_not_allowed"],
    ["another scheme", "gopher://127.0.0.1/", "scheme_not_allowed"],
    ["a URL with a password", "http://a:hunter2@127.0.0.1/", "credentials_in_url"],
    ["what is no URL", "http://[", "invalid_url"],
  ])("are not followed to %s", async (_name, to, code) => {
    const failure = guarded.fetch({ url: redirect(to) });
    await expect(failure).rejects.toMatchObject({ name: "FetchRefused", code });
    await expect(failure).rejects.not.toThrow(/hunter2/);
  });

  it("are checked at every hop of a chain", async () => {
    const chain = redirect(redirect(redirect("http://169.254.169.254/")));
    await expect(guarded.fetch({ url: chain })).rejects.toMatchObject({ code: "address_not_allowed" });
    expect(target.hits("/redirect")).toBe(3);
  });

  it("stop after five", async () => {
    await expect(guarded.fetch({ url: `${target.url}/loop` })).rejects.toMatchObject({ code: "too_many_redirects" });
    expect(target.hits("/loop")).toBe(6);
    target.reset();
    await expect(guarded.fetch({ url: `${target.url}/loop`, redirects: 50 })).rejects.toMatchObject({
      code: "too_many_redirects",
    });
    expect(target.hits("/loop")).toBe(6);
  });

  it("are returned as responses if redirects are off, whatever their target", async () => {
    const answer = await guarded.fetch({ url: redirect("file:///etc/passwd"), redirects: 0 });
    expect(answer).toMatchObject({ status: 302, headers: { location: "file:///etc/passwd" } });
  });

  it("are returned as responses if they have no target", async () => {
    await expect(guarded.fetch({ url: `${target.url}/status?code=302` })).resolves.toMatchObject({ status: 302 });
  });

  it("report the URL that the response came from", async () => {
    const answer = await guarded.fetch({ url: redirect("/echo?a=1#part") });
    expect(answer.url).toBe(`${target.url}/echo?a=1`);
  });

  it("do not wait for an endless body", async () => {
    target.on("/endless", async (_request, response, socket) => {
      response.writeHead(302, { location: "/echo" });
      while (!socket.destroyed && response.write("x".repeat(1000)))
        await new Promise((resolve) => setTimeout(resolve, 1));
    });
    await expect(guarded.fetch({ url: `${target.url}/endless` })).resolves.toMatchObject({ status: 200 });
  });
});

describe("credentials on a redirect", () => {
  const headers = {
    Authorization: "Bearer abc",
    Cookie: "session=abc",
    "Proxy-Authorization": "Basic abc",
    "X-Api-Key": "abc",
    "X-Plain": "kept",
  };

  it("are kept on the same origin", async () => {
    await guarded.fetch({ url: redirect("/echo"), headers, secretHeaders: ["X-API-Key"] });
    expect(target.requests[1]?.headers).toMatchObject({
      authorization: "Bearer abc",
      cookie: "session=abc",
      "x-api-key": "abc",
    });
  });

  it("are dropped on a redirect to another origin, and not restored on the way back", async () => {
    const back = `${other.url}/redirect?to=${encodeURIComponent(`${target.url}/echo`)}`;
    await guarded.fetch({ url: redirect(back), headers, secretHeaders: ["X-API-Key"] });
    for (const received of [other.requests[0], target.requests[1]]) {
      expect(received?.headers).toMatchObject({ "x-plain": "kept" });
      for (const name of ["authorization", "cookie", "proxy-authorization", "x-api-key"]) {
        expect(received?.headers).not.toHaveProperty(name);
      }
    }
  });

  it("are never followed from https to http", () => {
    const hop = { url: new URL("https://a.example/"), method: "GET", headers: new Map(), body: undefined };
    expect(() => redirectHop(hop, 302, "http://a.example/", new Set())).toThrow(/https to http/);
    expect(
      redirectHop({ ...hop, url: new URL("http://a.example/") }, 302, "https://a.example/", new Set()),
    ).toBeDefined();
  });
});

describe("a redirect with status", () => {
  it.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [301, "PUT", "PUT"],
    [302, "DELETE", "DELETE"],
    [307, "POST", "POST"],
    [308, "PATCH", "PATCH"],
    [303, "HEAD", "HEAD"],
  ])("%i turns %s into %s", async (code, before, after) => {
    const body = before === "HEAD" ? {} : { body: "payload", headers: { "Content-Type": "text/plain" } };
    await guarded.fetch({ url: redirect("/echo", code), method: before, ...body });
    const last = target.requests[1];
    expect(last?.method).toBe(after);
    const kept = before === after && before !== "HEAD";
    expect(last?.body).toBe(kept ? "payload" : "");
    expect(last?.headers["content-type"]).toBe(kept ? "text/plain" : undefined);
  });
});
