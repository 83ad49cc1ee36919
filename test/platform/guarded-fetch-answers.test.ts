import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toFetchError } from "../../src/platform/fetch/guarded-fetch-errors.ts";
import { createGuardedFetch, type GuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { startRawTarget } from "../support/raw-target.ts";

let guarded: GuardedFetch;

beforeAll(() => {
  guarded = createGuardedFetch({ allow: ["loopback"], limits: { totalMs: 20_000 } });
});
afterAll(() => guarded.close());

const head = (...lines: string[]): string => ["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n");
const hidden = "s3cret-bytes";

describe("a response that is not valid HTTP", () => {
  it.each([
    ["another protocol", `SSH-2.0-OpenSSH_9 ${hidden}\r\n`],
    ["no status line", `<html>${hidden}</html>`],
    ["bytes", Buffer.from(`\u0016\u0003\u0001\0\u0002${hidden}`, "latin1")],
    ["a status of letters", `HTTP/1.1 abc ${hidden}\r\n\r\n`],
    ["a status of two digits", `HTTP/1.1 99 ${hidden}\r\n\r\n`],
    ["a status of zeros", `HTTP/1.1 000 ${hidden}\r\nContent-Length: 0\r\n\r\n`],
    ["an unrequested change of protocol", `HTTP/1.1 101 ${hidden}\r\n\r\n`],
    ["a header without a colon", head(`x ${hidden}`)],
    ["a header with a NUL", head(`x: ${hidden}\0`)],
    ["a length that is no number", head(`content-length: ${hidden}`)],
    ["two lengths", `${head("content-length: 3", "content-length: 4")}abcd${hidden}`],
    ["a chunk without a size", `${head("transfer-encoding: chunked")}5\r\nhello\r\n${hidden}\r\n`],
  ])("is an invalid_response that may be retried and does not show its content: %s", async (_, answer) => {
    const target = await startRawTarget(answer);
    const error: unknown = await guarded
      .fetch({ url: `${target.url}/hook`, method: "POST", body: "x" })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "FetchFailed", code: "invalid_response", retryable: true });
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain(hidden);
    expect(target.requests).toHaveLength(1);
  });

  it.each([
    ["nothing", ""],
    ["half of a status line", "HTTP/1.1 20"],
    ["a truncated body", `${head("content-length: 30")}abc`],
    ["a truncated chunked body", `${head("transfer-encoding: chunked")}5\r\nhel`],
    ["an unexpected interim answer", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["another protocol that was offered", head("connection: upgrade").replace("200", "101")],
  ])("is always a retryable failure: %s", async (_, answer) => {
    const target = await startRawTarget(answer);
    await expect(guarded.fetch({ url: target.url })).rejects.toMatchObject({ name: "FetchFailed", retryable: true });
    expect(target.requests).toHaveLength(1);
  });
});

describe("an error of a request", () => {
  const origin = "https://example.com";

  it("becomes a fetch error, with or without a code, however deep the code is nested", () => {
    const coded = (code: string, cause?: unknown) => Object.assign(new Error("10.0.0.1", { cause }), { code });
    expect(toFetchError(new Error("no code at 10.0.0.1"), origin)).toMatchObject({
      code: "connection_failed",
      message: expect.not.stringContaining("10.0.0.1"),
    });
    expect(toFetchError("a text", origin)).toMatchObject({ code: "connection_failed" });
    expect(toFetchError(new DOMException("gone", "AbortError"), origin)).toMatchObject({ code: "connection_failed" });
    expect(toFetchError(new TypeError("failed", { cause: coded("ECONNRESET") }), origin)).toMatchObject({
      code: "connection_failed",
    });
    expect(toFetchError(new AggregateError([coded("ETIMEDOUT")]), origin)).toMatchObject({ code: "timeout" });
    expect(toFetchError(coded("HPE_INVALID_CONSTANT"), origin)).toMatchObject({ code: "invalid_response" });
  });

  it("is not changed if it is a programming mistake", () => {
    const mistake = new TypeError("undefined is not a function");
    expect(toFetchError(mistake, origin)).toBe(mistake);
  });
});
