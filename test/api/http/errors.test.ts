import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROBLEMS } from "../../../src/domain/errors.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import type { Answer, TestClient } from "../../support/client.ts";
import { checkedClient } from "./conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";
import { rawRequest } from "./raw-request.ts";

let api: InProcessApi;
let org: TestOrganisation;
let client: TestClient;
beforeAll(async () => {
  api = await startInProcess();
  org = await createOrganisation(api);
  client = checkedClient(api, org.secretKey);
});
afterAll(() => api.close());

/** Path and type of every issue. */
function issues({ body }: Answer): unknown[] {
  return body.detail.map(({ loc, type }: { loc: unknown; type: string }) => [loc, type]);
}

const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
  client.post("/v2/projects", body, { headers: { "content-type": "application/json", ...headers } });

describe("paths and methods", () => {
  it("return a problem for an unknown path", async () => {
    const { status, headers, body } = await client.get("/v3/nothing");
    expect(status).toBe(404);
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(body).toMatchObject({
      status: 404,
      code: "not_found",
      title: PROBLEMS.not_found.title,
      request_id: headers.get("x-request-id"),
    });
  });

  it("return 405 and the allowed methods for another method", async () => {
    const { status, headers, body } = await client.put("/v2/projects", {});
    expect(status).toBe(405);
    expect(body.code).toBe("method_not_allowed");
    expect(headers.get("allow")?.split(", ").toSorted()).toEqual(["GET", "HEAD", "OPTIONS", "POST"]);
  });

  it("return the allowed methods for OPTIONS", async () => {
    const answer = await client.raw("OPTIONS", "/v2/projects");
    expect([answer.status, answer.headers.get("allow")]).toEqual([204, expect.stringContaining("POST")]);
  });

  it("handle HEAD like GET, without a body", async () => {
    const answer = await client.raw("HEAD", "/v2/projects");
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
    expect(answer.headers.get("content-type")).toBe("application/json");
  });

  it.each([
    "/v2/projects/",
    "/V2/projects",
    "//v2/projects",
    "/v2/projects/../projects",
    "/v2//projects",
    "/v2/%70rojects",
  ])("do not treat %s as a known path", async (path) => {
    const headers = { authorization: `Bearer ${org.secretKey}` };
    expect((await rawRequest(api, { method: "GET", path, headers })).status).toBe(404);
  });
});

describe("path-traversal, redos-in-path: an ID in a path", () => {
  const odd = [
    "nope",
    "..",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "%00",
    "%ff",
    "a".repeat(10_000),
    `${"%2e".repeat(3000)}`,
    "{project_id}",
    "__proto__",
    "0197a1c4-7c5e-7d1f-9a3b-2f4e6a8c0b1d'--",
  ];
  it.each(odd)("is rejected as invalid if it is %.40s, and is not repeated in the response", async (id) => {
    const headers = { authorization: `Bearer ${org.secretKey}` };
    const start = performance.now();
    const answer = await rawRequest(api, { method: "GET", path: `/v2/projects/${id}`, headers });
    expect(performance.now() - start).toBeLessThan(15_000);
    const { detail } = JSON.parse(answer.body);
    expect([answer.status, detail]).toEqual([
      422,
      [
        {
          loc: ["path", "project_id"],
          msg: expect.any(String),
          type: expect.stringMatching(/^uuid_parsing$|^string_/),
        },
      ],
    ]);
    expect(answer.body.length).toBeLessThan(300);
  });

  it.each(["0", "-2", "abc", "1e3", "99999999999", "1.5"])(
    "that is the unknown version %s returns 404",
    async (version) => {
      const { body: project } = await client.post("/v2/projects", { name: "A" });
      const answer = await client.get(`/v2/projects/${project.project_id}/versions/${version}`);
      expect(answer).toMatchObject({ status: 404, body: { code: "flow_version_not_found" } });
    },
  );
});

describe("request IDs", () => {
  it("are taken from the client", async () => {
    const answer = await client.get("/v2/limits", { headers: { "X-Request-Id": "abc.DEF_1-2" } });
    expect(answer.headers.get("x-request-id")).toBe("abc.DEF_1-2");
  });

  it.each(["a b", "<script>", "x".repeat(129), "a\tb", "ü"])(
    "crlf: are generated if the client sends %j",
    async (id) => {
      const answer = await rawRequest(api, {
        method: "GET",
        path: "/healthz",
        headers: { "x-request-id": Buffer.from(id).toString("latin1") },
      });
      expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  it("appear in a log line that names the operation, without the query", async () => {
    await client.get("/v2/projects", { query: { page_size: 7 }, headers: { "X-Request-Id": "find-me" } });
    await expect.poll(() => api.logs()).toContain('"request_id":"find-me"');
    const line = JSON.parse(
      api
        .logs()
        .split("\n")
        .find((each) => each.includes("find-me")) ?? "{}",
    );
    expect(line).toMatchObject({
      operation: "listProjects",
      method: "GET",
      path: "/v2/projects",
      status: 200,
      org_id: org.org_id,
    });
    expect(api.logs()).not.toContain("page_size");
    expect(api.logs()).not.toContain(org.secretKey);
  });

  it("trigger-forgery: appear in a log line without the URL of an inbound webhook", async () => {
    const token = "T0ken-of-an-address-that-nobody-else-may-know";
    for (const path of [`/hooks/${token}`, `/hooks/${token}/more`, `/Hooks/${token}`]) {
      await client.post(path, {}, { headers: { "X-Request-Id": "a-hook" } });
    }
    await expect.poll(() => api.logs().match(/"request_id":"a-hook"/g)).toHaveLength(3);
    expect(api.logs()).not.toContain(token);
  });
});

describe("an upload that its client aborts", () => {
  it("is not logged as an internal error", async () => {
    const { hostname, port } = new URL(api.url);
    const head = [
      `POST /upload_to_storage_user?org=${org.org_id}&user_id=u&flow_id=${randomUUID()}&node_id=n HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${org.publicKey}`,
      "X-Request-Id: cut-off",
      "Content-Type: multipart/form-data; boundary=b",
      "Content-Length: 1000",
    ];
    connect(Number(port), hostname).end(`${head.join("\r\n")}\r\n\r\n--b\r\n`);
    await expect.poll(() => api.logs()).toContain('"request_id":"cut-off"');
    expect(api.logs()).not.toContain("response aborted");
  });
});

describe("an operation with a query", () => {
  it("rejects undeclared fields, and reports all issues together", async () => {
    const answer = await client.get("/v2/projects?page_size=x&order=up&limit=3&direction=next");
    expect(answer.status).toBe(422);
    expect(issues(answer)).toEqual([
      [["query", "limit"], "extra_forbidden"],
      [["query", "page_size"], "int_parsing"],
      [["query", "order"], "enum"],
    ]);
  });

  it.each([
    ["page_size=0", "greater_than_equal"],
    ["page_size=201", "less_than_equal"],
    ["page_size=", "int_parsing"],
    ["page_size=1.5", "int_parsing"],
    ["page_size=1&page_size=2", "value_error"],
    ["order=%00", "string_unicode"],
    ["__proto__=1", "extra_forbidden"],
  ])("rejects ?%s as %s", async (query, type) => {
    const answer = await client.get(`/v2/projects?${query}`);
    expect([answer.status, issues(answer)]).toEqual([422, [[["query", query.split("=")[0]], type]]]);
  });

  it("rejects parameters if it declares none", async () => {
    expect(issues(await client.get("/v2/limits?a=1"))).toEqual([[["query", "a"], "extra_forbidden"]]);
  });
});

describe("an operation with a body", () => {
  it.each([
    ["nothing", ""],
    ["null", "null"],
    ["a list", "[]"],
    ["a string", '"x"'],
  ])("rejects %s if an object is required", async (_, text) => {
    const answer = await post(text);
    expect([answer.status, answer.body.detail[0].loc]).toEqual([422, ["body"]]);
  });

  it.each(["{", '{"name":"a",}', "{'name':'a'}", '{"name":"a"} x', "\ufeff{}x", "NaN"])(
    "rejects %j as invalid JSON",
    async (text) => {
      const answer = await post(text);
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toHaveLength(1);
      expect(answer.body.detail[0]).toMatchObject({ type: "json_invalid" });
      expect(answer.body.detail[0].loc[0]).toBe("body");
    },
  );

  it("rejects bytes that are not UTF-8", async () => {
    expect(issues(await post(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])))).toEqual([[["body"], "json_invalid"]]);
  });

  it("does not repeat the body in the error", async () => {
    expect((await post('{"password":"hunter2" oops}')).body).not.toEqual(expect.stringContaining("hunter2"));
  });

  it("proto-pollution: rejects __proto__ at any depth, and changes no prototype", async () => {
    const answer = await post('{"name":"a","flow":{"nodes":[{"__proto__":{"polluted":true}}]}}');
    expect(issues(answer)).toEqual([[["body", "flow", "nodes", 0, "__proto__"], "value_error"]]);
    expect(issues(await post(String.raw`{"name":"a","\u005f_proto__":{"x":1}}`))).toEqual([
      [["body", "__proto__"], "value_error"],
    ]);
    expect(issues(await post('{"name":"a","constructor":{"prototype":{"x":1}}}'))).toEqual([
      [["body", "constructor"], "extra_forbidden"],
    ]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("rejects text that the database cannot store", async () => {
    expect(issues(await post(String.raw`{"name":"a\u0000b"}`))).toEqual([[["body", "name"], "string_unicode"]]);
    expect(issues(await post(String.raw`{"name":"a\ud800b"}`))).toEqual([[["body", "name"], "string_unicode"]]);
    expect((await post(String.raw`{"name":"\ud83d\ude00 \u00e9"}`)).body.name).toBe("😀 é");
  });

  it("deep-json: rejects deep nesting without parsing it", async () => {
    const start = performance.now();
    const answer = await post(`{"name":"a","flow":${"[".repeat(4_000_000)}`);
    expect(issues(answer)).toEqual([[["body"], "json_too_complex"]]);
    expect(performance.now() - start).toBeLessThan(15_000);
    expect(issues(await post(`${"[".repeat(101)}${"]".repeat(101)}`))).toEqual([[["body"], "json_too_complex"]]);
    expect(issues(await post(`${"[".repeat(100)}${"]".repeat(100)}`))).toEqual([[["body"], "dict_type"]]);
  });

  it("huge-list: rejects a million values without parsing them", async () => {
    expect(issues(await post(`{"name":"a","flow":[${"{},".repeat(1_000_001)}{}]}`))).toEqual([
      [["body"], "json_too_complex"],
    ]);
    const brackets = JSON.stringify({ name: "[".repeat(500), description: String.raw`\\"[{,` });
    expect((await post(brackets)).body.detail.map((issue: { type: string }) => issue.type)).toEqual([
      "string_too_long",
    ]);
  });

  it.each([
    ["/v2/runs", 20_000],
    ["/v2/api-keys", 9_500],
  ])(
    "huge-list: lists a hundred unknown fields of POST %s with %i fields, and counts the others",
    async (path, length) => {
      const wrong = Object.fromEntries(Array.from({ length }, (_, n) => [`m${n}`, 1]));
      const { status, body } = await client.post(path, wrong);
      expect([status, body.detail.length]).toEqual([422, 101]);
      expect(body.detail.at(-1)).toMatchObject({ loc: ["body"], type: "too_many_issues" });
      expect(Number.parseInt(body.detail.at(-1).msg, 10)).toBeGreaterThanOrEqual(length - 100);
    },
  );

  it("rejects a body over the limit, with and without a declared length", async () => {
    const megabyte = Buffer.alloc(1024 * 1024, "x");
    const announced = await post(Buffer.alloc(11 * 1024 * 1024, " "));
    expect(announced).toMatchObject({
      status: 413,
      body: { code: "payload_too_large", limit_bytes: 10 * 1024 * 1024 },
    });
    const headers = { authorization: `Bearer ${org.secretKey}`, "content-type": "application/json" };
    const body = Array.from({ length: 12 }, () => megabyte);
    expect((await rawRequest(api, { method: "POST", path: "/v2/projects", headers, body })).status).toBe(413);
  });

  it.each([
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["multipart/form-data; boundary=x", 415],
    ["application/json; charset=latin1", 415],
    ["application/jsonx", 415],
    ["", 415],
    ["application/json; charset=UTF-8", 201],
    ["application/vnd.millrace+json", 201],
    ["APPLICATION/JSON", 201],
  ])("responds to content type %j with %i", async (type, status) => {
    const headers = { authorization: `Bearer ${org.secretKey}`, ...(type !== "" && { "content-type": type }) };
    expect(
      (await rawRequest(api, { method: "POST", path: "/v2/projects", headers, body: ['{"name":"a"}'] })).status,
    ).toBe(status);
  });

  it("rejects a compressed body", async () => {
    expect(await post("{}", { "content-encoding": "gzip" })).toMatchObject({
      status: 415,
      body: { code: "unsupported_media_type" },
    });
  });
});

describe("host-header, trusted-header: request headers", () => {
  it("do not influence URLs in responses", async () => {
    const { body: project } = await client.post("/v2/projects", {
      name: "A",
      flow: {
        schema_version: 1,
        name: "A",
        nodes: [
          { id: "in-0", type: "input" },
          { id: "out-0", type: "output" },
        ],
        edges: [{ source: "in-0", target: "out-0" }],
      },
    });
    const headers = {
      authorization: `Bearer ${org.secretKey}`,
      host: "evil.example",
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "ftp",
    };
    for (const path of [
      `/v2/projects/${project.project_id}/snippets`,
      `/v2/projects/${project.project_id}/io-schema?format=openapi`,
      "/openapi.json",
      "/docs",
    ]) {
      const answer = await rawRequest(api, { method: "GET", path, headers });
      expect([answer.status, answer.body.includes("evil.example")]).toEqual([200, false]);
    }
  });

  it("do not change the caller or the checks", async () => {
    const headers = {
      authorization: `Bearer ${org.publicKey}`,
      "x-org-id": org.org_id,
      "x-user-role": "admin",
      "x-internal-request": "true",
      "x-forwarded-for": "127.0.0.1",
      "x-http-method-override": "DELETE",
      "x-original-url": "/healthz",
    };
    expect((await rawRequest(api, { method: "GET", path: "/v2/projects", headers })).status).toBe(403);
  });
});

describe("internal failures", () => {
  it("return 503 with Retry-After and without details while Postgres is unavailable", async () => {
    const broken = await startInProcess({ databaseUrl: "postgres://postgres@127.0.0.1:9/nowhere" });
    const answer = await checkedClient(broken, org.secretKey).get("/v2/projects");
    expect(answer).toMatchObject({ status: 503, body: { code: "service_unavailable" } });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(JSON.stringify(answer.body)).not.toMatch(/ECONN|postgres|127\.0/i);
    expect((await checkedClient(broken).get("/healthz")).status).toBe(200);
    await broken.close();
  });

  it("return a plain 500 for an unexpected error, and log it", async () => {
    const broken = await startInProcess();
    const key = (await createOrganisation(broken)).secretKey;
    await broken.db.system((db) => db.query("alter table projects rename to projects_gone"));
    const answer = await checkedClient(broken, key).get("/v2/projects", { headers: { "X-Request-Id": "boom" } });
    expect(answer).toMatchObject({ status: 500, body: { code: "internal_error", request_id: "boom" } });
    expect(JSON.stringify(answer.body)).not.toMatch(/projects|relation|sql/i);
    expect(broken.logs()).toMatch(/"request_id":"boom".*request failed|relation.*projects/);
    await broken.close();
  });
});

it("sends headers that forbid caching, content sniffing and framing", async () => {
  for (const path of ["/v2/projects", "/v2/projects/nope", "/healthz"]) {
    const { headers } = await client.get(path);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(headers.get("strict-transport-security")).toBeNull();
    expect(headers.get("x-powered-by")).toBeNull();
  }
});

it("sends Strict-Transport-Security if the public URL uses HTTPS", async () => {
  const secure = await startInProcess({ env: { MILLRACE_PUBLIC_URL: "https://api.example.com" } });
  const { headers } = await checkedClient(secure).get("/healthz");
  expect(headers.get("strict-transport-security")).toBe("max-age=31536000");
  await secure.close();
});
