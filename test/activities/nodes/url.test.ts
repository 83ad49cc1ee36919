import { CHARSET_ROWS } from "../../support/charsets.ts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { htmlToText } from "../../../src/platform/parsing/html-text.ts";
import { createUrlExecutor, type UrlDeps } from "../../../activities/nodes/url.ts";
import { NodeFailure } from "../../../src/domain/runs/failure.ts";
import { createGuardedFetch, type GuardedFetch } from "../../../src/platform/fetch/guarded-fetch.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";

let target: HttpTarget;
let guardedFetch: GuardedFetch;
const parsed: Array<{ declared: string | null; org_id: string }> = [];

// The parser runs in a child process and has its own tests; these tests check its arguments and the use of its result.
const parse: UrlDeps["parse"] = async ({ content, declared, org_id }) => {
  parsed.push({ declared, org_id });
  const isPage = declared?.startsWith("text/html") && "bytes" in content;
  return isPage ? htmlToText(Buffer.from(content.bytes).toString()) : { text: "text of the PDF" };
};

beforeAll(async () => {
  target = await startHttpTarget();
  guardedFetch = createGuardedFetch({ allow: [`127.0.0.1:${target.port}`] });
});
afterEach(() => {
  target.reset();
  parsed.length = 0;
});
afterAll(async () => {
  await guardedFetch.close();
  await target.close();
});

async function load(url: string) {
  return await createUrlExecutor({ guardedFetch, parse, version: "1.2.3" })({
    org_id: "org",
    project_id: "project",
    flow_version: 1,
    run_id: "run",
    path: "url-0",
    attempt: 1,
    config: { url: url.startsWith("/") ? target.url + url : url },
    scope: { nodes: {}, inputs: {}, run: { id: "run", user_id: null, metadata: {} } },
    idempotency_key: "run:url-0",
    signal: new AbortController().signal,
  });
}

async function serve(type: string | undefined, body: string | Buffer) {
  target.on("/file", (_request, response) => {
    if (type !== undefined) response.setHeader("content-type", type);
    response.end(body);
  });
  return (await load("/file")).output;
}

describe("a url node", () => {
  it("returns the title, the text and the final URL of a page", async () => {
    target.on("/page", (_request, response) => {
      response
        .setHeader("content-type", "text/html; charset=utf-8")
        .end("<title>Mill</title><script>x</script><p>Grain &amp; water</p>");
    });
    const { output, inputs } = await load("/redirect?to=/page&token=s3cretvalue");
    expect(output).toEqual({
      url: `${target.url}/page`,
      title: "Mill",
      text: "Grain & water",
      content_type: "text/html",
    });
    expect(parsed).toEqual([{ declared: "text/html; charset=utf-8", org_id: "org" }]);
    expect(JSON.stringify(inputs)).not.toContain("s3cretvalue");
    expect(target.requests[0]?.headers["user-agent"]).toBe("Millrace/1.2.3");
  });

  it.each([
    ["text/plain", "a\nb", "text/plain"],
    ["application/json; charset=utf-8", '{"a": 1}', "application/json"],
    ["text/csv", "a,b\n1,2", "text/csv"],
    ["text/markdown", "# a", "text/markdown"],
    ["application/xml", "<a>1</a>", "text/plain"],
    [undefined, "plain", "text/plain"],
    ["text/plain", "", "text/plain"],
  ])("returns %s as text unchanged", async (type, body, content_type) => {
    expect(await serve(type, body)).toEqual({ url: `${target.url}/file`, title: null, text: body, content_type });
    expect(parsed).toEqual([]);
  });

  it.each(CHARSET_ROWS)("decodes %s", async (_, bytes, charset, expected) => {
    const type = charset === null ? "text/plain" : `text/plain; charset=${charset}`;
    expect(await serve(type, bytes)).toMatchObject({ text: expected });
  });

  it("removes characters that a run record cannot store", async () => {
    expect(await serve("text/plain", "a\u0001b")).toMatchObject({ text: "ab" });
  });

  it("recognises a PDF and an HTML page by their content", async () => {
    expect(await serve("application/octet-stream", "%PDF-1.7 ...")).toMatchObject({
      text: "text of the PDF",
      content_type: "application/pdf",
    });
    expect(await serve("application/octet-stream", "<!doctype html><p>x")).toMatchObject({
      content_type: "text/html",
      text: "x",
    });
  });

  it.each([
    ["image/png", Buffer.from("\u0089PNG\r\n\u001a\n\0\0", "latin1")],
    ["application/zip", Buffer.from("PK\u0003\u0004\0\0", "latin1")],
    ["text/plain", Buffer.from([0x61, 0, 0x62, 1, 2, 0, 3, 4])],
    ["application/octet-stream", Buffer.from([1, 2, 0, 3])],
  ])("fails on %s that is not text", async (type, body) => {
    await expect(serve(type, body)).rejects.toMatchObject({ code: "unsupported_content_type", retryable: false });
  });

  it("fails on an error status and reports whether it can be retried", async () => {
    await expect(load("/status?code=404")).rejects.toMatchObject({
      code: "http_status",
      retryable: false,
      upstream: true,
    });
    await expect(load("/status?code=503&retry_after=2")).rejects.toMatchObject({
      retryable: true,
      retry_after_ms: 2000,
    });
    await expect(load("/reset")).rejects.toMatchObject({ code: "http_failed", retryable: true });
    target.on("/ssh", (_request, _response, socket) => void socket.end("SSH-2.0-OpenSSH_9\r\n"));
    await expect(load("/ssh")).rejects.toMatchObject({ code: "http_failed", retryable: true, upstream: true });
    expect(target.hits("/ssh")).toBe(1);
  });

  it("ssrf: fails on private addresses, other schemes and redirects to them", async () => {
    for (const url of [
      "http://169.254.169.254/latest/meta-data/",
      "http://2130706433/",
      "http://[::ffff:127.0.0.1]/",
      "file:///etc/passwd",
      `/redirect?to=${encodeURIComponent("http://169.254.169.254/")}`,
      `/redirect?to=${encodeURIComponent("file:///etc/passwd")}`,
    ]) {
      const error: unknown = await load(url).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(NodeFailure);
      expect(error).toMatchObject({ code: "http_refused", retryable: false });
    }
  });

  it("oversize: fails on a page that never finishes", async () => {
    await expect(load("/stream?chunk=1048576")).rejects.toMatchObject({ code: "value_too_large", retryable: false });
  });

  it("reports why a document cannot be read", async () => {
    const broken = new NodeFailure("document_broken", "The PDF is broken");
    const execute = createUrlExecutor({
      guardedFetch,
      version: "1",
      parse: async () => Promise.reject(broken),
    });
    const execution = {
      org_id: "org",
      project_id: "project",
      flow_version: 1,
      run_id: "run",
      path: "url-0",
      attempt: 1,
      config: { url: `${target.url}/text?type=application/pdf&body=%25PDF-1.7` },
      scope: { nodes: {}, inputs: {}, run: { id: "run", user_id: null, metadata: {} } },
      idempotency_key: "run:url-0",
      signal: new AbortController().signal,
    };
    await expect(execute(execution)).rejects.toBe(broken);
  });
});
