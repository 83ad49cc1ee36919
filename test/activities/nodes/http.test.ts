import { CHARSET_ROWS, META_PAGE } from "../../support/charsets.ts";
import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { NodeOutcome } from "../../../activities/nodes/executor.ts";
import { createHttpExecutor } from "../../../activities/nodes/http.ts";
import { NodeFailure } from "../../../src/domain/runs/failure.ts";
import { httpSpec } from "../../../src/domain/flow/nodes/http.ts";
import type { Json } from "../../../src/domain/json.ts";
import { createGuardedFetch, type GuardedFetch } from "../../../src/platform/fetch/guarded-fetch.ts";
import { createEvaluation } from "../../../src/platform/evaluation/evaluation.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { startRawTarget } from "../../support/raw-target.ts";

let target: HttpTarget;
let guardedFetch: GuardedFetch;

beforeAll(async () => {
  target = await startHttpTarget();
  guardedFetch = createGuardedFetch({ allow: [`127.0.0.1:${target.port}`] });
});
afterEach(() => target.reset());
afterAll(async () => {
  await Promise.all([guardedFetch.close(), evaluation.close()]);
  await target.close();
});

const evaluation = createEvaluation();

interface Overrides {
  readonly inputs?: Record<string, Json>;
  readonly signal?: AbortSignal;
  readonly fetch?: GuardedFetch;
}

async function run(config: Record<string, unknown>, overrides: Overrides = {}): Promise<NodeOutcome> {
  const url =
    typeof config["url"] === "string" && config["url"].startsWith("/") ? target.url + config["url"] : config["url"];
  return await createHttpExecutor({ evaluation, guardedFetch: overrides.fetch ?? guardedFetch, version: "1.2.3" })({
    org_id: "org",
    project_id: "project",
    flow_version: 1,
    run_id: "run",
    path: "http-0",
    attempt: 1,
    config: httpSpec.config.parse({ ...config, url: url ?? `${target.url}/echo` }),
    scope: {
      nodes: overrides.inputs ?? {},
      inputs: overrides.inputs ?? {},
      run: { id: "run", user_id: null, metadata: {} },
    },
    idempotency_key: "run:http-0",
    signal: overrides.signal ?? new AbortController().signal,
  });
}

const failure = async (...args: Parameters<typeof run>) => {
  const error: unknown = await run(...args).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(NodeFailure);
  return error as NodeFailure;
};
const text = (body: string, type = "text/plain") =>
  `/text?type=${encodeURIComponent(type)}&body=${encodeURIComponent(body)}`;

describe("the request of an http node", () => {
  it("renders the URL, the headers, the parameters and every string of the body", async () => {
    await run(
      {
        method: "POST",
        url: `${target.url}/users/{{in-0}}`,
        headers: { "X-User": "{{in-0}}" },
        query: { q: "{{in-1}}", fixed: "1" },
        body: { name: "{{in-0}}", list: ["{{in-1}}", 5, null, { deep: "<{{in-0}}>" }] },
      },
      { inputs: { "in-0": "ann", "in-1": "a&b=c d" } },
    );
    const [request] = target.requests;
    expect(request).toMatchObject({ method: "POST", url: "/users/ann?q=a%26b%3Dc+d&fixed=1" });
    expect(request?.headers).toMatchObject({ "x-user": "ann", "content-type": "application/json" });
    expect(JSON.parse(request?.body ?? "")).toEqual({ name: "ann", list: ["a&b=c d", 5, null, { deep: "<ann>" }] });
  });

  it("sends a text body as text/plain unless the flow sets another type", async () => {
    await run({ method: "POST", body: "hällo {{in-0}}" }, { inputs: { "in-0": "ann" } });
    await run({ method: "POST", body: "a=1", headers: { "content-type": "application/x-www-form-urlencoded" } });
    expect(target.requests.map(({ body, headers }) => [body, headers["content-type"]])).toEqual([
      ["hällo ann", "text/plain; charset=utf-8"],
      ["a=1", "application/x-www-form-urlencoded"],
    ]);
  });

  it("double-render: sends the value of an input unchanged", async () => {
    await run({ method: "POST", body: { text: "{{in-0}}" } }, { inputs: { "in-0": '{{7*7}} "},"admin":true' } });
    expect(JSON.parse(target.requests[0]?.body ?? "")).toEqual({ text: '{{7*7}} "},"admin":true' });
  });

  it("oversized value: is refused if its templates together render too much", async () => {
    const inputs = { "in-0": "x".repeat(10_000_000) };
    const error = await failure({ method: "POST", body: ["{{in-0}}", "{{in-0}}", "{{in-0}}"] }, { inputs });
    expect(error).toMatchObject({ code: "value_too_large", retryable: false });
    expect(target.requests).toHaveLength(0);
  });

  it("is not sent if a template cannot be rendered", async () => {
    expect(await failure({ url: "{{ in-0 | nonsense }}" })).toMatchObject({
      code: "template_failed",
      retryable: false,
    });
    expect(target.requests).toHaveLength(0);
  });

  it("keeps the query of the URL and puts parameters before a fragment", async () => {
    await run({ url: "/echo?a=b%20c&flag", query: { d: "1" } });
    await run({ url: "/echo#part", query: { d: "1" } });
    expect(target.requests.map(({ url }) => url)).toEqual(["/echo?a=b%20c&flag&d=1", "/echo?d=1"]);
  });

  it("carries the node's Idempotency-Key with every HTTP method, unless the flow sets its own", async () => {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]) await run({ method });
    expect(target.count("run:http-0")).toBe(7);
    await run({ method: "POST", headers: { "idempotency-KEY": "mine-{{in-0}}" } }, { inputs: { "in-0": "7" } });
    expect(target.count("mine-7")).toBe(1);
    expect(target.count("run:http-0")).toBe(7);
  });

  it("identifies Millrace in its User-Agent", async () => {
    await run({});
    expect(target.requests[0]?.headers["user-agent"]).toBe("Millrace/1.2.3");
  });

  it("crlf: refuses header values that contain a line break", async () => {
    for (const value of ["a\r\nX-Injected: 1", "a\nb", "a\u0000b"]) {
      const error = await failure({ headers: { "X-Test": "{{in-0}}" } }, { inputs: { "in-0": value } });
      expect(error).toMatchObject({ code: "http_refused", retryable: false });
    }
    expect(target.requests).toHaveLength(0);
  });

  it("ssrf: refuses values that make the URL private, invalid or of another scheme", async () => {
    for (const url of [
      "http://169.254.169.254/",
      "http://localhost:1/",
      "file:///etc/passwd",
      "",
      "http://a:b@example.com/",
    ]) {
      const error = await failure({ url: "{{in-0}}" }, { inputs: { "in-0": url } });
      expect(error).toMatchObject({ code: "http_refused", retryable: false, upstream: false });
    }
    const redirect = await failure({ url: `/redirect?to=${encodeURIComponent("http://169.254.169.254/")}` });
    expect(redirect.code).toBe("http_refused");
  });

  it("does not send secret headers to another origin after a redirect", async () => {
    const other = await startHttpTarget();
    const open = createGuardedFetch({ allow: ["loopback"] });
    const execute = createHttpExecutor({ evaluation, guardedFetch: open, version: "1" });
    const headers = { Authorization: "Bearer abc", "X-Api-Key": "abc", "X-Functions-Key": "abc", "X-Plain": "1" };
    await execute({
      org_id: "org",
      project_id: "project",
      flow_version: 1,
      run_id: "run",
      path: "http-0",
      attempt: 1,
      config: httpSpec.config.parse({ url: `${target.url}/redirect?to=${encodeURIComponent(other.url)}`, headers }),
      scope: { nodes: {}, inputs: {}, run: { id: "run", user_id: null, metadata: {} } },
      idempotency_key: "run:http-0",
      signal: new AbortController().signal,
    });
    expect(other.requests[0]?.headers).toMatchObject({ "x-plain": "1", "idempotency-key": "run:http-0" });
    for (const name of ["authorization", "x-api-key", "x-functions-key"]) {
      expect(other.requests[0]?.headers).not.toHaveProperty(name);
    }
    await open.close();
    await other.close();
  });
});

describe("the output of an http node", () => {
  const body = async (url: string) => ((await run({ url })).output as { body: Json }).body;

  it("contains the status, lowercase headers without cookies, and the parsed JSON body", async () => {
    target.on("/json", (_request, response) => {
      response.setHeader("Set-Cookie", "sid=1").setHeader("X-Rate", "7").setHeader("Content-Type", "application/json");
      response.writeHead(201).end('{"a":[1,null,"é"]}');
    });
    const { output } = await run({ url: "/json" });
    expect(output).toMatchObject({ status: 201, headers: { "x-rate": "7" }, body: { a: [1, null, "é"] } });
    expect((output as { headers: object }).headers).not.toHaveProperty("set-cookie");
  });

  it.each([
    ["application/json", '{"a":1}', { a: 1 }],
    ["application/problem+json; charset=utf-8", "[1]", [1]],
    ["application/json", "not json", "not json"],
    ["application/json", "", null],
    ["text/plain", '{"a":1}', '{"a":1}'],
    ["application/xml", "<a/>", "<a/>"],
    ["", "plain", "plain"],
    ["text/html; charset=nonsense", "é", "é"],
    ["text/plain", "nul\0", { encoding: "base64", content_type: "text/plain", size: 4, data: "bnVsAA==" }],
    ["application/json", '{"a\\u0000":1}', '{"a\\u0000":1}'],
    ["application/json", '["\\ud800"]', '["\\ud800"]'],
    ["application/json", '["\\ud83d\\ude00"]', ["😀"]],
    ["application/json", '{"id":12345678901234567890,"n":1}', { id: "12345678901234567890", n: 1 }],
  ])("parses a body of type %s %j as %j", async (type, sent, expected) => {
    target.on("/sent", (_request, response) => {
      if (type !== "") response.setHeader("content-type", type);
      response.end(sent);
    });
    expect(await body("/sent")).toEqual(expected);
  });

  it.each(CHARSET_ROWS)("decodes %s", async (_, bytes, charset, expected) => {
    const type = charset === null ? "text/plain" : `text/plain; charset=${charset}`;
    target.on("/bytes", (_request, response) => void response.setHeader("content-type", type).end(bytes));
    expect(await body("/bytes")).toBe(expected);
  });

  it("decodes an HTML page by its meta tag and returns other bytes as base64", async () => {
    const send = (type: string, bytes: Buffer) => {
      target.on("/bytes", (_request, response) => void response.setHeader("content-type", type).end(bytes));
    };
    send("text/html", META_PAGE.bytes);
    expect(await body("/bytes")).toContain(META_PAGE.text);
    send("image/png", Buffer.from([0, 255]));
    expect(await body("/bytes")).toEqual({ encoding: "base64", content_type: "image/png", size: 2, data: "AP8=" });
  });

  it("proto-pollution: drops __proto__ from the response", async () => {
    const value = await body(text('{"__proto__":{"admin":true},"a":{"__proto__":1,"b":2}}', "application/json"));
    expect(JSON.stringify(value)).toBe('{"a":{"b":2}}');
    expect((value as { admin?: unknown }).admin).toBeUndefined();
  });

  it("deep-json: refuses a response that is nested too deeply", async () => {
    target.on("/deep", (_request, response) => {
      response.setHeader("content-type", "application/json").end("[".repeat(100_000) + "]".repeat(100_000));
    });
    expect(await failure({ url: "/deep" })).toMatchObject({ code: "value_too_large", retryable: false });
  });

  it("oversized value: refuses a response that is too large, without a retry", async () => {
    expect(await failure({ url: "/stream?chunk=1048576" })).toMatchObject({
      code: "value_too_large",
      retryable: false,
    });
  });
});

describe("an http node fails", () => {
  it.each([
    [400, false],
    [401, false],
    [404, false],
    [408, true],
    [425, true],
    [429, true],
    [500, true],
    [503, true],
    [304, false],
  ])("on status %i (retryable: %s)", async (code, retryable) => {
    const error = await failure({ url: `/status?code=${code}${code === 304 ? "" : "&body=some+reason"}` });
    expect(error).toMatchObject({ code: "http_status", retryable, upstream: true });
    expect(error.message).toContain(String(code));
    if (code !== 304) expect(error.message).toContain("some reason");
  });

  it("and names the failed run of another Millrace, only the innermost of several", async () => {
    const [one, other] = ["0198a3b4-0000-7000-8000-000000000001", "0198a3b4-0000-7000-8000-000000000002"];
    const problem = (run_id: string, detail: string) => (_: unknown, response: ServerResponse) => {
      response.writeHead(502, { "content-type": "application/problem+json" });
      response.end(JSON.stringify({ code: "upstream_failed", detail, run_id, outputs: { long: "x".repeat(9000) } }));
    };
    target.on("/inner", problem(one, "https://api.example answered 503: busy"));
    const inner = await failure({ url: "/inner" });
    expect(inner.message).toBe(`${target.url} returned status 502: run ${one}: https://api.example answered 503: busy`);
    target.on("/outer", problem(other, inner.message));
    expect((await failure({ url: "/outer" })).message).toBe(inner.message);
  });

  it.each([
    ["2xx", 204, true],
    [404, 404, true],
    ["404", 404, true],
    [["2xx", 404], 404, true],
    [["2xx", 404], 410, false],
    [201, 200, false],
    ["4xx", 200, false],
  ])("unless the status is expected: expect_status %j accepts %i: %s", async (expect_status, code, taken) => {
    const config = { url: `/status?code=${code}`, expect_status };
    if (taken) expect((await run(config)).output).toMatchObject({ status: code });
    else expect(await failure(config)).toMatchObject({ code: "http_status" });
  });

  it("with the retry delay that the service asks for", async () => {
    expect(await failure({ url: "/status?code=429&retry_after=7" })).toMatchObject({ retry_after_ms: 7000 });
    const later = encodeURIComponent(new Date(Date.now() + 60_000).toUTCString());
    const { retry_after_ms } = await failure({ url: `/status?code=503&retry_after=${later}` });
    expect(retry_after_ms).toBeGreaterThan(50_000);
    expect(await failure({ url: "/status?code=503&retry_after=soon" })).toMatchObject({ retry_after_ms: undefined });
    expect(await failure({ url: "/status?code=503&retry_after=99999999999" })).toMatchObject({
      retry_after_ms: 86_400_000,
    });
  });

  it("as retryable if the connection breaks or is refused", async () => {
    expect(await failure({ url: "/reset" })).toMatchObject({ code: "http_failed", retryable: true, upstream: true });
  });

  it.each([
    ["another protocol", "SSH-2.0-OpenSSH_9\r\n"],
    ["a chunk without a size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nOpenSSH\r\n"],
    ["a broken compression", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\nOpenSSH"],
  ])("as an upstream failure if the service responds with %s, after one request", async (what, answer) => {
    const raw = await startRawTarget(answer);
    const open = createGuardedFetch({ allow: ["loopback"] });
    const error = await failure({ method: "POST", url: raw.url, body: "x" }, { fetch: open });
    await open.close();
    const retryable = what !== "a broken compression";
    expect(error).toMatchObject({ code: "http_failed", upstream: true, retryable });
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain("OpenSSH");
    expect(raw.requests).toHaveLength(1);
  });

  it("when it is cancelled, with the reason of the cancellation", async () => {
    const controller = new AbortController();
    const reason = new NodeFailure("node_timeout", "too long");
    setTimeout(() => controller.abort(reason), 50);
    await expect(run({ url: "/hang" }, { signal: controller.signal })).rejects.toBe(reason);
  });

  it("secret-in-error: with a message of at most 500 characters that contains no secret sent or received", async () => {
    target.on("/leak", (request, response) => {
      const said = `${request.headers["authorization"]} ${request.headers["x-api-key"]} ${request.url} password=p4ssw0rd! `;
      response.writeHead(401).end(said + "x".repeat(5000));
    });
    const headers = { Authorization: "Custom {{in-0}}", "X-Api-Key": "key-{{in-0}}" };
    const error = await failure(
      { url: "/leak", headers, query: { token: "{{in-0}}" } },
      { inputs: { "in-0": "tops3cret" } },
    );
    expect(error.message).not.toMatch(/tops3cret|p4ssw0rd/);
    expect(error.message).toContain("[redacted]");
    expect(error.message.length).toBeLessThan(600);
  });
});

describe("the recorded inputs of an http node", () => {
  it("are the rendered request, with secrets masked", async () => {
    const { inputs } = await run(
      {
        method: "POST",
        url: "/echo?api_key=s3cretvalue",
        headers: {
          Authorization: "Bearer {{in-0}}",
          Cookie: "a={{in-0}}",
          "X-Api-Key": "{{in-0}}",
          "X-Plain": "{{in-1}}",
        },
        body: { user: "{{in-1}}", password: "{{in-0}}", nested: [{ client_secret: "{{in-0}}" }] },
      },
      { inputs: { "in-0": "s3cretvalue", "in-1": "ann" } },
    );
    expect(JSON.stringify(inputs)).not.toContain("s3cretvalue");
    expect(inputs).toMatchObject({
      method: "POST",
      url: `${target.url}/echo?api_key=[redacted]`,
      headers: { authorization: "[redacted]", "x-plain": "ann", "idempotency-key": "run:http-0" },
      body: { user: "ann", password: "[redacted]", nested: [{ client_secret: "[redacted]" }] },
    });
  });

  it("omit a body that is too long to read", async () => {
    const { inputs } = await run(
      { method: "POST", body: { text: "{{in-0}}" } },
      { inputs: { "in-0": "x".repeat(100_000) } },
    );
    expect(inputs).toMatchObject({ body: "[100011 bytes]" });
  });
});
