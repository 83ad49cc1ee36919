import { connect, type AddressInfo } from "node:net";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAX_HEADER_BYTES, createApiServer } from "../../../src/api/server.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

let api: InProcessApi;
beforeAll(async () => {
  api = await startInProcess();
});
afterAll(() => api.close());

/** Sends these bytes; returns everything that arrives until the server closes the connection. */
function exchange(text: string): Promise<string> {
  const { hostname, port } = new URL(api.url);
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(Number(port), hostname, () => void socket.write(text));
    socket.setEncoding("utf8").on("data", (chunk: string) => (received += chunk));
    socket.on("close", () => resolve(received)).on("error", reject);
  });
}

const SECRET = "Authorization: Bearer mr_sec_unreadable";

describe("a malformed request", () => {
  it.each([
    ["is no HTTP", `EHLO mail.example\r\n${SECRET}\r\n\r\n`, 400, "bad_request"],
    ["has a broken header", `GET /healthz HTTP/1.1\r\nHost: a\r\n${SECRET}\r\nbro ken: 1\r\n\r\n`, 400, "bad_request"],
    [
      "host-header: has two of them",
      `GET /healthz HTTP/1.1\r\nHost: a\r\nhost: b\r\n${SECRET}\r\n\r\n`,
      400,
      "bad_request",
    ],
    ["has no Host", `GET /healthz HTTP/1.1\r\n${SECRET}\r\n\r\n`, 400, "bad_request"],
    [
      "has two lengths",
      "POST /token HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      400,
      "bad_request",
    ],
    [
      "has long headers",
      `GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: ${"x".repeat(MAX_HEADER_BYTES)}\r\n\r\n`,
      431,
      "headers_too_large",
    ],
    [
      "expects the unknown",
      "POST /token HTTP/1.1\r\nHost: a\r\nExpect: a-pony\r\nContent-Length: 0\r\n\r\n",
      417,
      "expectation_failed",
    ],
  ])("gets a problem response with a logged request ID, if it %s", async (_, text, status, code) => {
    const [head = "", body = ""] = (await exchange(text)).split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(head).toMatch(/^content-type: application\/problem\+json$/im);
    expect(head).toMatch(/^connection: close$/im);
    const id = /^x-request-id: (\S+)$/im.exec(head)?.[1];
    expect(JSON.parse(body)).toMatchObject({ status, code, request_id: id });
    await expect.poll(() => api.logs()).toContain(`"request_id":"${id}"`);
    expect(api.logs()).not.toContain("mr_sec_unreadable");
  });

  it("gets no error response in the middle of another response", async () => {
    const server = createApiServer((_, res) => void res.write("first"), pino({ enabled: false }));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let received = "";
    for await (const chunk of socket.setEncoding("utf8") as AsyncIterable<string>) {
      received += chunk;
      if (received.endsWith("first\r\n")) socket.write("no request\r\n\r\n");
    }
    expect(received).toMatch(/^HTTP\/1\.1 200 [^{]*first\r\n$/);
    server.close();
  });

  it("is not an HTTP/1.0 request or one with `Expect: 100-continue`", async () => {
    expect(await exchange("GET /healthz HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1\.1 200 /);
    const waiting = "GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nConnection: close\r\n\r\n";
    expect(await exchange(waiting)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });
});
