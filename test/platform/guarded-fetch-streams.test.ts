import { createHash, type Hash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { createGzip } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { fetchAdapter } from "../../src/platform/fetch/fetch-adapter.ts";
import { createGuardedFetch, type GuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";

const MIB = 1024 * 1024;
const outcomes: string[] = [];
let handler: (request: IncomingMessage, response: ServerResponse) => unknown;
const server = createServer((request, response) => void handler(request, response));
let url: string;
let guarded: GuardedFetch;

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  guarded = createGuardedFetch({ allow: ["loopback"], onRequest: (outcome) => outcomes.push(outcome) });
});
afterEach(() => void outcomes.splice(0));
afterAll(async () => {
  await guarded.close();
  server.closeAllConnections();
  server.close();
});

async function* chunks(count: number, size = 64 * 1024, hash?: Hash): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n += 1) {
    const chunk = Buffer.alloc(size, n);
    hash?.update(chunk);
    yield chunk;
  }
}

/** A stream that never ends on its own, and a flag that shows whether it was released. */
function endless() {
  const stream = new Readable({ read() {} });
  stream.push("x");
  return stream;
}

describe("streamed bodies", () => {
  it("carry 128 MiB out and back with constant memory", async () => {
    handler = (request, response) => void request.pipe(response);
    const [sent, received] = [createHash("sha256"), createHash("sha256")];
    const before = process.memoryUsage().arrayBuffers;
    let peak = 0;
    const { body } = await guarded.open({
      url,
      method: "PUT",
      body: chunks(2048, 64 * 1024, sent),
      limits: { requestBytes: 128 * MIB, responseBytes: 128 * MIB },
    });
    let size = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      received.update(chunk);
      size += chunk.byteLength;
      peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
    }
    expect(size).toBe(128 * MIB);
    expect(received.digest("hex")).toBe(sent.digest("hex"));
    // Far from both bodies; chunks already read are garbage that is not collected immediately, on a busy machine less so.
    expect(peak).toBeLessThan(112 * MIB);
    expect(outcomes).toEqual(["ok"]);
  });

  it.each(["identity", "gzip"])("forward each event immediately (%s)", async (encoding) => {
    const acknowledged: Array<() => void> = [];
    handler = async (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": encoding });
      const out = encoding === "gzip" ? createGzip({ flush: 2 }) : undefined;
      out?.pipe(response);
      for (let n = 0; n < 3; n += 1) {
        const seen = new Promise<void>((resolve) => acknowledged.push(resolve));
        (out ?? response).write(`data: ${n}\n\n`);
        await seen;
      }
      (out ?? response).end();
    };
    const { headers, body } = await guarded.open({ url });
    expect(headers["content-type"]).toBe("text/event-stream");
    const events: string[] = [];
    for await (const chunk of body) {
      events.push(String(chunk));
      acknowledged.shift()?.();
    }
    expect(events).toEqual(["data: 0\n\n", "data: 1\n\n", "data: 2\n\n"]);
  });

  it("report their length if it is known", async () => {
    handler = (request, response) =>
      void request.resume().on("end", () => response.end(JSON.stringify(request.headers)));
    const send = async (bodyBytes?: number) => {
      const { body } = await guarded.open({
        url,
        method: "POST",
        body: chunks(2, 10),
        ...(bodyBytes ? { bodyBytes } : {}),
      });
      return JSON.parse(await text(body)) as Record<string, string>;
    };
    expect(await send(20)).toMatchObject({ "content-length": "20" });
    expect(await send()).toMatchObject({ "transfer-encoding": "chunked" });
    await expect(send(19)).rejects.toThrow();
  });

  it("end at their size limits", async () => {
    handler = (_request, response) => void Readable.from(chunks(100)).pipe(response);
    const { body } = await guarded.open({ url, limits: { responseBytes: MIB } });
    await expect(text(body)).rejects.toMatchObject({ code: "response_too_large" });
    handler = (_request, response) => response.setHeader("content-length", 2 * MIB).flushHeaders();
    await expect(guarded.open({ url, limits: { responseBytes: MIB } })).rejects.toMatchObject({
      code: "response_too_large",
    });
    handler = (request) => void request.resume();
    const sending = guarded.open({ url, method: "POST", body: chunks(100), limits: { requestBytes: MIB } });
    await expect(sending).rejects.toMatchObject({ code: "request_too_large" });
    expect(outcomes).toEqual(["response_too_large", "response_too_large", "request_too_large"]);
  });

  it("end at their time limits, in both directions", async () => {
    handler = (_request, response) => void response.write("x");
    const quiet = await guarded.open({ url, limits: { bodyMs: 100, totalMs: Infinity } });
    await expect(text(quiet.body)).rejects.toMatchObject({ code: "timeout" });
    const slow = await guarded.open({ url, limits: { totalMs: 100 } });
    await expect(text(slow.body)).rejects.toMatchObject({ code: "timeout" });
    handler = (request) => void request.resume();
    const source = endless();
    const stalled = guarded.open({ url, method: "POST", body: source, limits: { headersMs: 100 } });
    await expect(stalled).rejects.toMatchObject({ code: "timeout" });
    expect(source.destroyed).toBe(true);
    expect(outcomes).toEqual(["timeout", "timeout", "timeout"]);
  });

  it("extend the wait for headers while the request body is being sent", async () => {
    handler = (request, response) => void request.resume().on("end", () => response.end("done"));
    async function* steady() {
      for (let n = 0; n < 6; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        yield Buffer.from("x");
      }
    }
    const { body } = await guarded.open({ url, method: "POST", body: steady(), limits: { headersMs: 400 } });
    expect(await text(body)).toBe("done");
  });

  it("end if the caller aborts, before the response or during it", async () => {
    const closed: Array<Promise<unknown>> = [];
    handler = (request, response) => {
      closed.push(once(response, "close"));
      if (request.method === "GET") response.write("x");
      else request.resume();
    };
    const controller = new AbortController();
    const source = endless();
    const waiting = guarded.open({ url, method: "POST", body: source, signal: controller.signal });
    await expect.poll(() => closed.length).toBe(1);
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(source.destroyed).toBe(true);
    const within = new AbortController();
    const { body } = await guarded.open({ url, signal: within.signal });
    const reading = text(body);
    within.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    // Destroying the stream releases it even if no more data arrives.
    const limits = { bodyMs: 3_600_000, totalMs: Infinity };
    (await guarded.open({ url, limits })).body.destroy();
    for await (const _ of (await guarded.open({ url, limits })).body) {
      // At this point the stream waits for the next chunk.
      await new Promise((resolve) => setImmediate(resolve));
      break;
    }
    await expect.poll(() => closed.length).toBe(4);
    await Promise.all(closed);
    expect(outcomes).toEqual(["aborted", "aborted", "aborted", "aborted"]);
  });

  it("end if the other side closes the connection, and destroy the source", async () => {
    handler = (request) => void request.socket.destroy();
    const source = endless();
    await expect(guarded.open({ url, method: "POST", body: source })).rejects.toMatchObject({
      code: "connection_failed",
    });
    expect(source.destroyed).toBe(true);
    handler = (_request, response) => void response.write("x", () => response.socket?.resetAndDestroy());
    const { body } = await guarded.open({ url });
    await expect(text(body)).rejects.toMatchObject({ name: "FetchFailed", code: "connection_failed", retryable: true });
  });

  it("throw the error of the request body unchanged", async () => {
    handler = (request) => void request.resume();
    async function* failing() {
      yield Buffer.from("x");
      throw new RangeError("of the source");
    }
    await expect(guarded.open({ url, method: "POST", body: failing() })).rejects.toThrow(
      new RangeError("of the source"),
    );
  });

  it("can be read if the response comes before the request is sent", async () => {
    handler = (_request, response) => void response.writeHead(413).end("too much");
    const { status, body } = await guarded.open({ url, method: "POST", body: endless() });
    expect([status, await text(body)]).toEqual([413, "too much"]);
  });

  it("are not sent to a redirect's target, unless the redirect becomes a GET", async () => {
    handler = (request, response) => {
      const status = Number(request.url?.slice(1));
      if (status) response.writeHead(status, { location: "/" }).end();
      else response.end(request.method);
    };
    const send = (status: number) => guarded.open({ url: `${url}${status}`, method: "PUT", body: chunks(1) });
    for (const status of [301, 302, 307, 308]) {
      await expect(send(status)).rejects.toMatchObject({ code: "body_not_repeatable", retryable: false });
    }
    expect(await text((await send(303)).body)).toBe("GET");
  });
});

describe("the standard fetch adapter for libraries", () => {
  const call: typeof fetch = (...given) => fetchAdapter(guarded)(...given);

  it("returns responses like the standard fetch", async () => {
    handler = async (request, response) => {
      const body = await text(request);
      const { headers, method } = request;
      response.writeHead(201, { "x-a": "b" }).end(JSON.stringify({ method, headers, body }));
    };
    const headers = { "content-type": "application/json", "content-length": "2", host: "elsewhere" };
    const answer = await call(new URL(`${url}path`), { method: "POST", headers, body: "{}" });
    expect([answer.status, answer.ok, answer.headers.get("x-a"), answer.url]).toEqual([201, true, "b", `${url}path`]);
    expect(await answer.json()).toMatchObject({
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json", "content-length": "2", host: new URL(url).host },
    });
    const form = new FormData();
    form.set("file", new Blob(["abc"]), "a.txt");
    const posted = await call(new Request(url, { method: "PUT" }), { method: "POST", body: form });
    const sent = (await posted.json()) as { headers: Record<string, string>; body: string };
    expect(sent.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
    expect(Number(sent.headers["content-length"])).toBe(sent.body.length);
    const streamed = await call(url, {
      method: "POST",
      body: Readable.toWeb(Readable.from(chunks(2, 3))) as ReadableStream,
    });
    expect(await streamed.json()).toMatchObject({ headers: { "transfer-encoding": "chunked" } });
  });

  it("streams events, and stops if either side does", async () => {
    let closed: Promise<unknown> | undefined;
    handler = (_request, response) => {
      closed = once(response, "close");
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
    };
    const answer = await call(url);
    const reader = answer.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: 1\n\n");
    await reader?.cancel();
    await closed;
    const controller = new AbortController();
    const aborted = await call(url, { signal: controller.signal });
    const rest = aborted.text();
    controller.abort();
    await expect(rest).rejects.toMatchObject({ name: "AbortError" });
    await closed;
  });

  it("returns responses without a body, and follows redirects as requested", async () => {
    handler = (request, response) => {
      if (request.url === "/302") response.writeHead(302, { location: "/" }).end();
      else response.writeHead(204).end();
    };
    const followed = await call(`${url}302`);
    expect([followed.status, await followed.text()]).toEqual([204, ""]);
    expect((await call(`${url}302`, { redirect: "manual" })).status).toBe(302);
    await expect(call(`${url}302`, { redirect: "error" })).rejects.toMatchObject({ code: "invalid_response" });
  });

  it("ssrf: rejects everything that the guarded fetch rejects", async () => {
    handler = (_request, response) => void response.writeHead(302, { location: "http://169.254.169.254/" }).end();
    await expect(call(url)).rejects.toMatchObject({ code: "address_not_allowed" });
    for (const refused of ["http://10.0.0.1/", "file:///etc/passwd"]) {
      await expect(call(refused)).rejects.toMatchObject({ name: "FetchRefused" });
    }
  });
});

it("reports a response that is interrupted, even if its partial body is kept", async () => {
  handler = (_request, response) => {
    response.writeHead(200, { "content-length": "10" });
    response.write("half", () => response.destroy());
  };
  const answer = await guarded.fetch({ url, incomplete: "keep" });
  expect(answer.body.toString()).toBe("half");
  expect(outcomes).toEqual([answer.broken?.code]);
  expect(outcomes).not.toEqual([undefined]);
});
