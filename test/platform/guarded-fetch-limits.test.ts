import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createGuardedFetch, type GuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";

const MIB = 1024 * 1024;
const empty = Buffer.alloc(0);
let target: HttpTarget;
let guarded: GuardedFetch;

beforeAll(async () => {
  target = await startHttpTarget();
  guarded = createGuardedFetch({ allow: ["loopback"], limits: { responseBytes: MIB, totalMs: 10_000 } });
});
afterEach(() => target.reset());
afterAll(async () => {
  await guarded.close();
  await target.close();
});

function serve(body: Buffer, encoding: string): string {
  target.on("/packed", (_request, response) => {
    response.writeHead(200, { "content-encoding": encoding, "content-type": "text/plain" }).end(body);
  });
  return `${target.url}/packed`;
}

describe("oversized responses", () => {
  it("accepts a body of exactly the limit and rejects one byte more", async () => {
    await expect(guarded.fetch({ url: `${target.url}/bytes?n=${MIB}` })).resolves.toMatchObject({ truncated: false });
    await expect(guarded.fetch({ url: `${target.url}/bytes?n=${MIB + 1}` })).rejects.toMatchObject({
      name: "FetchFailed",
      code: "response_too_large",
      retryable: false,
    });
  });

  it("stops an endless stream at the limit and closes its connection", async () => {
    await expect(guarded.fetch({ url: `${target.url}/stream` })).rejects.toMatchObject({ code: "response_too_large" });
    await expect.poll(() => target.active()).toBe(0);
  });

  it("keeps the beginning of a body if requested", async () => {
    const answer = await guarded.fetch({
      url: `${target.url}/stream`,
      incomplete: "keep",
      limits: { responseBytes: 1000 },
    });
    expect(answer.truncated).toBe(true);
    expect(answer.body.toString()).toBe("x".repeat(1000));
    const whole = await guarded.fetch({ url: `${target.url}/bytes?n=10`, incomplete: "keep" });
    expect(whole).toMatchObject({ truncated: false });
  });

  it("refuses a header block that is too large", async () => {
    target.on("/headers", (_request, response) => void response.setHeader("x-large", "x".repeat(100_000)).end());
    await expect(guarded.fetch({ url: `${target.url}/headers` })).rejects.toMatchObject({ code: "headers_too_large" });
  });

  it("does not treat the content length of a HEAD response as a body", async () => {
    target.on("/head", (_request, response) => void response.setHeader("content-length", 10 * MIB).end());
    await expect(guarded.fetch({ url: `${target.url}/head`, method: "HEAD" })).resolves.toMatchObject({ status: 200 });
  });
});

describe("compressed responses", () => {
  const text = "millrace ".repeat(10_000);

  it.each([
    ["gzip", gzipSync(text)],
    ["x-gzip", gzipSync(text)],
    ["GZIP", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["deflate", deflateRawSync(text)],
    ["br", brotliCompressSync(text)],
    ["identity", Buffer.from(text)],
  ])("are decoded from %s", async (encoding, body) => {
    const answer = await guarded.fetch({ url: serve(body, encoding) });
    expect(answer.body.toString()).toBe(text);
  });

  it.each([
    ["gzip", gzipSync(Buffer.alloc(64 * MIB))],
    ["deflate", deflateSync(Buffer.alloc(64 * MIB))],
    ["br", brotliCompressSync(Buffer.alloc(64 * MIB))],
  ])("zip-bomb: are rejected if they grow beyond the limit (%s)", async (encoding, body) => {
    expect(body.length).toBeLessThan(MIB);
    const before = process.memoryUsage().arrayBuffers;
    await expect(guarded.fetch({ url: serve(body, encoding) })).rejects.toMatchObject({ code: "response_too_large" });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * MIB);
  });

  it("zip-bomb: are truncated if requested", async () => {
    const url = serve(gzipSync(Buffer.alloc(64 * MIB)), "gzip");
    const answer = await guarded.fetch({ url, incomplete: "keep", limits: { responseBytes: 5000 } });
    expect(answer).toMatchObject({ truncated: true });
    expect(answer.body).toHaveLength(5000);
  });

  it.each(["gzip, gzip", "zstd", "compress", "exi"])("are rejected in the encoding %s", async (encoding) => {
    await expect(guarded.fetch({ url: serve(gzipSync("x"), encoding) })).rejects.toMatchObject({
      code: "unsupported_encoding",
    });
  });

  it.each([
    ["rubbish", Buffer.from("this is not gzip")],
    ["cut short", gzipSync(text).subarray(0, 60)],
  ])("fail cleanly if they are %s", async (_name, body) => {
    await expect(guarded.fetch({ url: serve(body, "gzip") })).rejects.toMatchObject({ code: "invalid_encoding" });
  });

  it("can be empty", async () => {
    const answer = await guarded.fetch({ url: serve(Buffer.alloc(0), "gzip") });
    expect(answer.body).toHaveLength(0);
  });
});

describe("time limits", () => {
  it("end a request that never gets a response", async () => {
    const started = Date.now();
    await expect(
      guarded.fetch({ url: `${target.url}/hang?token=abc`, limits: { totalMs: 100 } }),
    ).rejects.toMatchObject({
      code: "timeout",
      retryable: true,
      message: expect.not.stringContaining("abc"),
    });
    expect(Date.now() - started).toBeLessThan(15_000);
  });

  it("end a body that arrives too slowly", async () => {
    const url = `${target.url}/stream?chunk=1&every=20`;
    await expect(guarded.fetch({ url, limits: { totalMs: 200 } })).rejects.toMatchObject({ code: "timeout" });
    await expect.poll(() => target.active()).toBe(0);
  });

  it("end a wait for headers and a pause within a body", async () => {
    target.on("/silent", (_request, response) => void response.writeHead(200).write("a"));
    await expect(guarded.fetch({ url: `${target.url}/hang`, limits: { headersMs: 50 } })).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("no response"),
    });
    await expect(guarded.fetch({ url: `${target.url}/silent`, limits: { bodyMs: 50 } })).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("stopped"),
    });
  });

  it("include all redirects", async () => {
    target.on("/loop", async (_request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 80));
      response.writeHead(302, { location: "/loop" }).end();
    });
    await expect(guarded.fetch({ url: `${target.url}/loop`, limits: { totalMs: 200 } })).rejects.toMatchObject({
      code: "timeout",
    });
  });
});

describe("a name server that never responds", () => {
  it("does not hold a request beyond its time limit or its caller's abort", async () => {
    const stuck = createGuardedFetch({ allow: [], connectMs: 600_000, resolve: () => new Promise(() => undefined) });
    const url = "https://stuck.example/";
    await expect(stuck.fetch({ url, limits: { totalMs: 50 } })).rejects.toMatchObject({ code: "timeout" });
    const controller = new AbortController();
    const reason = new Error("the run was cancelled");
    const answer = stuck.fetch({ url, signal: controller.signal });
    setImmediate(() => controller.abort(reason));
    await expect(answer).rejects.toBe(reason);
    await stuck.close();
  });
});

describe("a response with incomplete: keep", () => {
  const kept = (path: string, limits = {}) =>
    guarded.fetch({ url: target.url + path, incomplete: "keep", redirects: 0, limits });

  it("succeeds without a body that cannot be decoded", async () => {
    serve(Buffer.from("abc"), "zstd");
    expect(await kept("/packed")).toMatchObject({ status: 200, body: empty, broken: { code: "unsupported_encoding" } });
    serve(Buffer.from("this is not gzip"), "gzip");
    expect(await kept("/packed")).toMatchObject({ status: 200, body: empty, broken: { code: "invalid_encoding" } });
  });

  it("succeeds with a partial body if the connection breaks", async () => {
    target.on("/broken", (_request, response, socket) => {
      response.writeHead(503, { "retry-after": "60", "content-length": 100 });
      response.write("as far as here", () => socket.end());
    });
    const answer = await kept("/broken");
    expect(answer).toMatchObject({ status: 503, truncated: false, broken: { code: "connection_failed" } });
    expect(answer.headers["retry-after"]).toBe("60");
    expect(answer.body.toString()).toBe("as far as here");
  });

  it("succeeds with a partial body at its time limit, and after a pause in the body", async () => {
    const dripping = await kept("/stream?chunk=1&every=20", { totalMs: 3000 });
    expect(dripping).toMatchObject({ status: 200, broken: { code: "timeout" } });
    expect(dripping.body.toString()).toMatch(/^x+$/);
    target.on("/silent", (_request, response) => void response.writeHead(410).write("gone"));
    expect(await kept("/silent", { bodyMs: 100 })).toMatchObject({ status: 410, broken: { code: "timeout" } });
    await expect.poll(() => target.active()).toBe(0);
  });

  it("has its whole body, or a truncated one if it is too long", async () => {
    expect(await kept("/bytes?n=10")).not.toHaveProperty("broken");
    expect(await kept("/stream", { responseBytes: 1000 })).toMatchObject({ truncated: true });
  });

  it("still fails if headers never arrive or the caller aborts", async () => {
    await expect(kept("/hang", { headersMs: 100 })).rejects.toMatchObject({ code: "timeout" });
    await expect(kept("/reset")).rejects.toMatchObject({ code: "connection_failed" });
    const controller = new AbortController();
    const reason = new Error("the process is stopping");
    const url = `${target.url}/stream?chunk=1&every=5`;
    const answer = guarded.fetch({ url, incomplete: "keep", signal: controller.signal });
    await expect.poll(() => target.active()).toBe(1);
    controller.abort(reason);
    await expect(answer).rejects.toBe(reason);
  });
});

describe("cancellation", () => {
  it("rejects with the caller's reason and closes the connection", async () => {
    const controller = new AbortController();
    const reason = Object.assign(new Error("the node took too long"), { code: "node_timeout" });
    setTimeout(() => controller.abort(reason), 50);
    await expect(guarded.fetch({ url: `${target.url}/hang`, signal: controller.signal })).rejects.toBe(reason);
    await expect.poll(() => target.active()).toBe(0);
  });

  it("works in the middle of a body, and before anything is sent", async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    const url = `${target.url}/stream?chunk=1&every=5`;
    await expect(guarded.fetch({ url, signal: controller.signal })).rejects.toThrow(/aborted/);
    target.reset();
    await expect(guarded.fetch({ url, signal: controller.signal })).rejects.toThrow(/aborted/);
    expect(target.requests).toHaveLength(0);
  });
});

describe("a connection that breaks", () => {
  it.each([0, 100])("fails with a retryable error after %i bytes", async (after) => {
    await expect(guarded.fetch({ url: `${target.url}/reset?after=${after}` })).rejects.toMatchObject({
      code: "connection_failed",
      retryable: true,
    });
  });
});
