import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ValidationProblem } from "../../../src/domain/errors.ts";
import { createFormCompiler } from "../../../src/domain/flow/forms/form.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { parseDocumentText } from "../../../src/domain/providers/openapi/document.ts";
import { asAction, type ImportedProvider } from "../../../src/domain/providers/imported.ts";
import { importOpenApi } from "../../../src/domain/providers/openapi/import.ts";

const base = { openapi: "3.0.3", info: { title: "Shop", version: "7" }, servers: [{ url: "https://shop.example/v1" }] };
const ok = { 200: { description: "ok" } };

/** Imports a document with one operation. */
function one(operation: JsonObject, more: JsonObject = {}, path = "/orders"): ImportedProvider {
  return importOpenApi({ ...base, ...more, paths: { [path]: { post: { responses: ok, ...operation } } } }, null);
}

function requestOf(imported: ImportedProvider, inputs: JsonObject, credential: JsonObject = {}) {
  const [action] = imported.actions;
  if (!action) throw new Error("no action");
  return asAction(action).request?.(inputs, credential);
}

/** The locations of the 422. */
function refusal(value: unknown): unknown {
  try {
    return importOpenApi(value, null);
  } catch (error) {
    if (!(error instanceof ValidationProblem)) throw error;
    return error.issues.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`);
  }
}

describe("imported operations", () => {
  it("put parameters in the path, query, headers or cookies as declared", () => {
    const schema = { type: "string" };
    const list = { type: "array", items: schema };
    const parameters = [
      { name: "id", in: "path", required: true, schema },
      { name: "tag", in: "query", schema: list },
      { name: "sort", in: "query", explode: false, schema: list },
      { name: "pipe", in: "query", style: "pipeDelimited", explode: false, schema: list },
      { name: "filter", in: "query", style: "deepObject", schema: { type: "object" } },
      { name: "q", in: "query", content: { "application/json": { schema: { type: "object" } } } },
      { name: "X-Trace", in: "header", schema },
      { name: "session", in: "cookie", schema },
      { name: "Authorization", in: "header", schema },
    ];
    const imported = one({ parameters }, {}, "/orders/{id}/lines");
    const inputs = {
      id: "a/b?",
      tag: ["x", "y"],
      sort: ["p", "q"],
      pipe: ["1", "2"],
      filter: { a: 1 },
      q: { b: [2] },
      "X-Trace": "t",
      session: "s 1",
    };
    expect(requestOf(imported, inputs)).toEqual({
      method: "POST",
      url: "https://shop.example/v1/orders/a%2Fb%3F/lines",
      query: [
        ["tag", "x"],
        ["tag", "y"],
        ["filter[a]", "1"],
        ["q", '{"b":[2]}'],
      ],
      encoded_query: ["sort=p,q", "pipe=1%7C2"],
      headers: { "x-trace": "t", cookie: "session=s%201" },
    });
    expect(imported.actions[0]?.input_schema).toMatchObject({ required: ["id"], additionalProperties: false });
    expect(Object.keys(imported.actions[0]?.input_schema["properties"] as object)).not.toContain("Authorization");
    expect(() => requestOf(imported, { ...inputs, id: ".." })).toThrow(/not allowed as part of a path/);
  });

  const RGB = { R: 100, G: "a,b" };
  it.each<[JsonObject, unknown, string]>([
    [{ style: "simple" }, ["a,b", "c"], "/x/a%2Cb,c"],
    [{ style: "simple" }, RGB, "/x/R,100,G,a%2Cb"],
    [{ style: "simple", explode: true }, RGB, "/x/R=100,G=a%2Cb"],
    [{ style: "label" }, ["a", "b"], "/x/.a,b"],
    [{ style: "label", explode: true }, ["a", "b"], "/x/.a.b"],
    [{ style: "label", explode: true }, RGB, "/x/.R=100.G=a%2Cb"],
    [{ style: "matrix" }, ["a", "b"], "/x/;p=a,b"],
    [{ style: "matrix", explode: true }, ["a", "b"], "/x/;p=a;p=b"],
    [{ style: "matrix", explode: true }, RGB, "/x/;R=100;G=a%2Cb"],
    [{ style: "matrix" }, 5, "/x/;p=5"],
  ])("encode a path segment as %j", (style, value, path) => {
    const imported = one(
      { parameters: [{ name: "p", in: "path", required: true, schema: {}, ...style }] },
      {},
      "/x/{p}",
    );
    expect(requestOf(imported, { p: value } as JsonObject)?.url).toBe(`https://shop.example/v1${path}`);
  });

  it("encode lists and objects of a query unambiguously and refuse values that no style can encode", () => {
    const of = (more: JsonObject, where = "query") =>
      one({ parameters: [{ name: "p", in: where, schema: {}, ...more }] });
    const joined = (more: JsonObject, p: unknown) => requestOf(of(more), { p } as JsonObject)?.encoded_query;
    expect(joined({ explode: false }, ["a,b", "c&d"])).toEqual(["p=a%2Cb,c%26d"]);
    expect(joined({ explode: false }, RGB)).toEqual(["p=R,100,G,a%2Cb"]);
    expect(joined({ style: "spaceDelimited", explode: false }, ["a b", "c"])).toEqual(["p=a%20b%20c"]);
    expect(requestOf(of({}), { p: RGB })?.query).toEqual([
      ["R", "100"],
      ["G", "a,b"],
    ]);
    const header = of({}, "header");
    expect(requestOf(header, { p: ["a", "b"] })?.headers).toEqual({ p: "a,b" });
    expect(requestOf(header, { p: "a,b" })?.headers).toEqual({ p: "a,b" });
    for (const p of [["a,b", "c"], ["a,b"], { a: "b=c" }])
      expect(() => requestOf(header, { p })).toThrow(/cannot contain a comma/);
    const deep = of({ style: "deepObject", explode: true });
    expect(requestOf(deep, { p: { a: 1 } })?.query).toEqual([["p[a]", "1"]]);
    for (const p of [["a", "b"], "a"]) expect(() => requestOf(deep, { p })).toThrow(/needs an object/);
    expect(() => requestOf(deep, { p: { a: ["b"] } })).toThrow(/cannot be written/);
    const cookie = of({}, "cookie");
    expect(requestOf(cookie, { p: "x y" })?.headers).toEqual({ cookie: "p=x%20y" });
    expect(() => requestOf(cookie, { p: ["a", "b"] })).toThrow(/exploded/);
    expect(requestOf(of({ explode: false }, "cookie"), { p: ["a", "b"] })?.headers).toEqual({ cookie: "p=a,b" });
    expect(() => requestOf(of({}), { p: [["a"]] })).toThrow(/cannot be written/);
  });

  it("return XML as text", () => {
    const content = { "application/xml": { schema: { type: "object", properties: { a: { type: "string" } } } } };
    const imported = one({ requestBody: { required: true, content } });
    expect(imported.actions[0]?.input_schema["properties"]).toMatchObject({ body: { type: "string" } });
    expect(requestOf(imported, { body: "<a/>" })?.body).toEqual({ text: "<a/>", type: "application/xml" });
  });

  it("are refused by name if no connection can satisfy their security", () => {
    const key = (name: string) => ({ type: "apiKey", in: "header", name });
    const securitySchemes = { a: key("X-A"), a2: key("x-a"), b: key("X-B"), t: { type: "http", scheme: "bearer" } };
    const components = { securitySchemes: { ...securitySchemes, p: { type: "http", scheme: "basic" } } };
    const of = (security: JsonObject[]) => ({
      ...base,
      components,
      paths: { "/o": { get: { security, responses: ok } } },
    });
    for (const security of [
      [{ a: [], p: [] }],
      [{ b: [] }],
      [{ t: [], p: [] }],
      [{ a: [], a2: [] }],
      [{ a: [], c: [] }],
    ])
      expect(String(refusal(of(security))), JSON.stringify(security)).toContain("GET /o");
    for (const security of [[{ a: [] }], [{ a: [], p: [] }, { t: [] }], [{ b: [] }, {}], []])
      expect(importOpenApi(of(security), null).actions).toHaveLength(1);
    const schemesOf = (...security: JsonObject[]) => importOpenApi(of(security), null).provider.auth.schemes;
    expect(Object.keys(schemesOf({ a: [], b: [] }))).toEqual(["bearer", "basic", "api_keys"]);
    expect(Object.keys(schemesOf({ b: [], t: [] }, { a: [] }))).toEqual(["api_key", "basic", "api_keys"]);
    expect(schemesOf({ a: [], t: [] }).api_keys?.fields["required"]).toEqual(["a", "t"]);
  });

  it("accept a discriminated type whose alternatives extend it", () => {
    const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    const own = (member: string) => ({
      allOf: [refTo("Pet"), { type: "object", properties: { [member]: { type: "string" } } }],
    });
    const schemas = {
      Pet: {
        type: "object",
        properties: { kind: { type: "string" } },
        required: ["kind"],
        discriminator: { propertyName: "kind" },
        oneOf: [refTo("Cat"), refTo("Dog")],
      },
      Cat: own("claws"),
      Dog: own("bark"),
    };
    const requestBody = { required: true, content: { "application/json": { schema: refTo("Pet") } } };
    const [action] = one({ requestBody }, { components: { schemas } }).actions;
    const form = createFormCompiler()(action?.input_schema ?? {});
    if (!form.ok) throw new Error(form.message);
    expect(form.check({ body: { kind: "cat", claws: "long" } })).toEqual([]);
    expect(form.check({ body: { claws: "long" } })).not.toEqual([]);
  });

  it("rename parameters that share a name or are called body", () => {
    const parameters = ["path", "query"].map((where) => ({
      name: "id",
      in: where,
      required: true,
      schema: { type: "string" },
    }));
    const requestBody = { content: { "application/json": { schema: { type: "object" } } } };
    const imported = one(
      { parameters: [...parameters, { name: "body", in: "query" }], requestBody },
      {},
      "/orders/{id}",
    );
    const inputs = { id: "1", id_query: "2", body_query: "3", body: { a: 1 } };
    expect(requestOf(imported, inputs)).toMatchObject({
      url: "https://shop.example/v1/orders/1",
      query: [
        ["id", "2"],
        ["body", "3"],
      ],
      body: { json: { a: 1 } },
    });
  });

  it.each([
    ["application/merge-patch+json", { a: [1] }, { text: '{"a":[1]}', type: "application/merge-patch+json" }],
    [
      "application/x-www-form-urlencoded",
      { a: [1, "x"], b: { c: 2 } },
      {
        form: [
          ["a", "1"],
          ["a", "x"],
          ["b", '{"c":2}'],
        ],
      },
    ],
    ["text/csv", "a,b", { text: "a,b", type: "text/csv" }],
    ["image/png", "AQI=", { bytes: Buffer.from([1, 2]), type: "image/png" }],
  ])("send %s", (type, body, expected) => {
    const imported = one({ requestBody: { required: true, content: { [type]: { schema: {} } } } });
    expect(requestOf(imported, { body })?.body).toEqual(expected);
    expect(imported.actions[0]?.input_schema["required"]).toEqual(["body"]);
  });

  it("send files in multipart bodies", () => {
    const properties = { photo: { type: "string", format: "binary" }, note: { type: "string" } };
    const content = { "multipart/form-data": { schema: { type: "object", properties } } };
    const imported = one({ requestBody: { content } });
    const photo = { filename: "a.png", content_base64: "AQI=", content_type: "image/png" };
    expect(requestOf(imported, { body: { photo, note: "n" } })?.body).toEqual({
      parts: [
        { name: "photo", content: Buffer.from([1, 2]), filename: "a.png", type: "image/png" },
        { name: "note", content: "n" },
      ],
    });
  });

  it("have self-contained JSON Schemas, even for circular references", () => {
    const Node = {
      type: "object",
      properties: {
        id: { type: "integer", readOnly: true },
        parent: { $ref: "#/components/schemas/Node" },
        weight: { type: "number", minimum: 0, exclusiveMinimum: true, nullable: true },
      },
      required: ["id", "weight"],
    };
    const schema = { $ref: "#/components/schemas/Node" };
    const content = { "application/json": { schema } };
    const imported = one(
      { requestBody: { content }, responses: { 201: { description: "made", content } } },
      { components: { schemas: { Node } } },
    );
    const [action] = imported.actions;
    const form = createFormCompiler()(action?.input_schema);
    if (!form.ok) throw new Error(form.message);
    expect(form.check({ body: { weight: 1, parent: { weight: null } } })).toEqual([]);
    expect(form.check({ body: { weight: 0 } })).toHaveLength(1);
    expect(form.check({ body: { weight: 1, parent: {} } })).toHaveLength(1);
    expect(action?.output_schema).toMatchObject({
      $ref: "#/$defs/Node",
      $defs: { Node: { required: ["id", "weight"] } },
    });
  });

  it("say where a schema was shortened", () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => [
        `S${n}`,
        {
          type: "object",
          description: "x".repeat(500),
          properties: { next: { $ref: `#/components/schemas/S${n + 1}` } },
        },
      ]),
    );
    const content = { "application/json": { schema: { $ref: "#/components/schemas/S0" } } };
    const all = { ...schemas, S100: { type: "string" } };
    const imported = one({ responses: { 200: { description: "long", content } } }, { components: { schemas: all } });
    const output = imported.actions[0]?.output_schema;
    expect(output?.["$comment"]).toMatch(/^Shortened: S\d+ take anything/);
    expect(createFormCompiler()(output).ok).toBe(true);
  });

  it("are annotated by their methods and named by their operation IDs", () => {
    const operations = Object.fromEntries(
      ["get", "put", "post", "delete", "patch"].map((method) => [method, { responses: ok, operationId: "do it" }]),
    );
    const { actions } = importOpenApi({ ...base, paths: { "/x": operations } }, null);
    expect(
      actions.map(({ action_id, annotations: { read_only, destructive, idempotent } }) => [
        action_id,
        read_only,
        destructive,
        idempotent,
      ]),
    ).toEqual([
      ["do_it", true, false, true],
      ["do_it_2", false, true, true],
      ["do_it_3", false, false, false],
      ["do_it_4", false, true, true],
      ["do_it_5", false, true, false],
    ]);
  });
});

describe("servers and security", () => {
  it("fill in the variables of a server and resolve a relative URL against the document's", () => {
    const servers = [
      { url: "https://{region}.example/{v}", variables: { region: { default: "eu" }, v: { default: "v2" } } },
    ];
    expect(requestOf(one({}, { servers }), {})?.url).toBe("https://eu.example/v2/orders");
    const relative = { ...base, servers: [{ url: "/api" }], paths: { "/x": { get: { responses: ok } } } };
    expect(requestOf(importOpenApi(relative, "https://shop.example/docs/openapi.json"), {})?.url).toBe(
      "https://shop.example/api/x",
    );
    expect(() => requestOf(importOpenApi(relative, null), {})).toThrow(/base_url/);
    expect(() => requestOf(one({}, { servers: [{ url: "file:///etc/passwd" }] }), {})).toThrow(/base_url/);
  });

  it("use the connection's base URL, whatever server the document names", () => {
    const imported = one({ servers: [{ url: "https://evil.example" }] });
    expect(requestOf(imported, {}, { base_url: "https://mine.example/v1" })?.url).toBe(
      "https://mine.example/v1/orders",
    );
  });

  it("of an operation are used only if they are below the connection's base URL", () => {
    const imported = one({ servers: [{ url: "https://shop.example/v1/uploads" }] });
    const at = (base_url: string) => requestOf(imported, {}, { base_url })?.url;
    expect(requestOf(imported, {})?.url).toBe("https://shop.example/v1/uploads/orders");
    for (const base of ["https://shop.example/v1", "https://shop.example/", "https://shop.example/v1/uploads/"])
      expect(at(base)).toBe("https://shop.example/v1/uploads/orders");
    for (const base of ["https://shop.example/v2", "https://shop.example/v1/up", "https://other.example/v1"])
      expect(at(base)).toBe(`${base}/orders`);
  });

  it("become the authentication schemes of connections", () => {
    const securitySchemes = {
      key: { type: "apiKey", in: "query", name: "k" },
      pass: { type: "http", scheme: "basic" },
      token: { type: "http", scheme: "bearer" },
      oauth: { type: "oauth2", flows: { clientCredentials: { tokenUrl: "https://login.example/token", scopes: {} } } },
      mutual: { type: "mutualTLS" },
    };
    const imported = one({}, { components: { securitySchemes }, security: [{ key: [] }] });
    const { schemes, required } = imported.provider.auth;
    expect([Object.keys(schemes), required]).toEqual([
      ["api_key", "basic", "bearer", "oauth2_client_credentials"],
      true,
    ]);
    expect(schemes.api_key).toMatchObject({ placement: { in: "query", name: "k" } });
    expect(schemes.oauth2_client_credentials?.fields).toMatchObject({
      properties: {
        token_url: { default: "https://login.example/token" },
        base_url: { default: "https://shop.example/v1" },
      },
    });
    expect(one({ security: [] }, { security: [{ key: [] }] }).actions[0]?.requires_connection).toBe(false);
    expect(one({ security: [{ key: [] }, {}] }).actions[0]?.requires_connection).toBe(false);
  });
});

describe("documents that are refused", () => {
  const paths = { "/x": { get: { responses: ok } } };
  it.each([
    ["no document", [], /object/],
    ["Swagger 2", { swagger: "2.0", paths }, /Swagger 2\.0/],
    ["another version", { openapi: "4.0.0", paths }, /3\.0 or 3\.1/],
    ["no paths", { openapi: "3.1.0" }, /paths/],
    ["no operations", { ...base, paths: {} }, /no operations/],
    [
      "a reference that points to nothing",
      { ...base, paths: { "/x": { $ref: "#/components/pathItems/none" } } },
      /points to nothing/,
    ],
    ["a reference that points to itself", { ...base, paths: { "/x": { $ref: "#/paths/~1x" } } }, /points to itself/],
    ["a path without a slash", { ...base, paths: { x: { get: { responses: ok } } } }, /must begin with \//],
    [
      "too many operations",
      {
        ...base,
        paths: Object.fromEntries(Array.from({ length: 2001 }, (_, n) => [`/x${n}`, { get: { responses: ok } }])),
      },
      /at most 2000/,
    ],
  ])("%s", (_, document, expected) => expect(String(refusal(document))).toMatch(expected));

  it.each(["http://169.254.169.254/latest", "file:///etc/passwd", "other.yaml#/a", "//inner/doc"])(
    "an external reference to %s (openapi-ssrf)",
    ($ref) => {
      const content = { "application/json": { schema: { properties: { a: { $ref } } } } };
      expect(
        String(refusal({ ...base, paths: { "/x": { post: { responses: ok, requestBody: { content } } } } })),
      ).toMatch(/^body\.openapi\.paths\./);
    },
  );

  it("documents nested endlessly, and names that reach into prototypes", () => {
    let deep: JsonObject = {};
    for (let n = 0; n < 5000; n += 1) deep = { a: deep };
    expect(String(refusal({ ...base, paths, "x-deep": deep }))).toMatch(/nested deeper/);
    expect(String(refusal({ ...base, paths: { "/x": { $ref: "#/constructor/prototype" } } }))).toMatch(
      /points to nothing/,
    );
  });
});

it("reads YAML and refuses a bomb of aliases", () => {
  expect(parseDocumentText("openapi: 3.1.0\npaths:\n  /x:\n    get: {}\n")).toEqual({
    openapi: "3.1.0",
    paths: { "/x": { get: {} } },
  });
  const lines = Array.from(
    { length: 12 },
    (_, n) => `a${n + 1}: &a${n + 1} [${Array.from({ length: 10 }, () => `*a${n}`).join(",")}]`,
  );
  expect(() => parseDocumentText(["a0: &a0 [x]", ...lines].join("\n"))).toThrow(/neither valid JSON nor valid YAML/);
});

describe("numbers beyond 2^53 in a document", () => {
  const LONG = "9007199254740993";
  const text = (schema: string): string =>
    `{"openapi":"3.1.0","info":{"title":"x"},"paths":{"/x":{"get":{"parameters":[{"name":"id","in":"query","schema":${schema}}]}}}}`;
  const schemaOf = (document: string): unknown => {
    const { actions } = importOpenApi(parseDocumentText(document), null);
    return (actions[0]?.input_schema["properties"] as JsonObject | undefined)?.["id"];
  };

  it.each([
    [`{"type":"integer","const":${LONG}}`, { const: LONG }],
    [`{"type":"integer","enum":[1,${LONG}]}`, { enum: [1, LONG] }],
    [`{"type":"integer","default":${LONG}}`, { type: "integer", default: LONG }],
    [
      `{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}`,
      { type: "integer", format: "int64", minimum: 1, $comment: "maximum: 9223372036854775807" },
    ],
    [
      `{"type":"string","maxLength":18446744073709551615}`,
      { type: "string", $comment: "maxLength: 18446744073709551615" },
    ],
  ])("keep their digits: %s", (schema, expected) => {
    expect(schemaOf(text(schema))).toEqual(expected);
    expect(createFormCompiler()(expected).ok).toBe(true);
  });

  it("keep their digits in YAML", () => {
    const yaml = `{a: ${LONG}, b: 0x20000000000001, c: +${LONG}, d: ${LONG}.0, e: 1e400, f: 5, g: "${LONG}", h: 1.5, i: .inf}`;
    expect(parseDocumentText(yaml)).toEqual({
      a: LONG,
      b: LONG,
      c: LONG,
      d: `${LONG}.0`,
      e: "1e400",
      f: 5,
      g: LONG,
      h: 1.5,
      i: null,
    });
  });

  it("are sent unchanged, as parameters and in JSON", () => {
    const id = { type: "integer", format: "int64" };
    const json = { "application/json": { schema: { type: "object", properties: { id, name: { type: "string" } } } } };
    const parameters = [
      { name: "id", in: "path", required: true, schema: id },
      { name: "q", in: "query", schema: id },
    ];
    const imported = one({ parameters, requestBody: { content: json } }, {}, "/orders/{id}");
    expect(requestOf(imported, { id: LONG, q: LONG, body: { id: LONG, name: LONG } })).toMatchObject({
      url: `https://shop.example/v1/orders/${LONG}`,
      query: [["q", LONG]],
      body: { json: { id: LONG, name: LONG }, text: `{"id":${LONG},"name":"${LONG}"}` },
    });
  });
});

describe("keywords beside a $ref", () => {
  const components = {
    schemas: { Name: { type: "string" }, Made: { type: "string", readOnly: true } },
    parameters: { Id: { name: "id", in: "query", description: "of all", schema: { type: "string" } } },
  };
  const imported = (openapi: string): JsonObject => {
    const schema = {
      type: "object",
      properties: { name: { $ref: "#/components/schemas/Name", maxLength: 5, description: "short" } },
      required: ["made"],
    };
    const parameters = [{ $ref: "#/components/parameters/Id", description: "of an order" }];
    const requestBody = { content: { "application/json": { schema } } };
    const [action] = one({ parameters, requestBody }, { openapi, components }).actions;
    return action?.input_schema["properties"] as JsonObject;
  };

  it("apply since OpenAPI 3.1", () => {
    expect(imported("3.1.0")).toMatchObject({
      id: { description: "of an order" },
      body: { properties: { name: { $ref: "#/$defs/Name", maxLength: 5, description: "short" } } },
    });
  });

  it("are ignored in OpenAPI 3.0, as its specification says", () => {
    expect(imported("3.0.3")).toMatchObject({
      id: { description: "of all" },
      body: { properties: { name: { $ref: "#/$defs/Name" } } },
    });
    expect(imported("3.0.3")["body"]).not.toHaveProperty("properties.name.maxLength");
  });
});

it("reads Millrace's own openapi.json: every operation, with checkable inputs", () => {
  const document = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8")) as {
    paths: Record<string, object>;
  };
  const { actions, provider } = importOpenApi(document, "https://millrace.example/openapi.json");
  const operations = Object.values(document.paths).flatMap((item) =>
    Object.keys(item).filter((key) => key !== "parameters"),
  );
  expect(actions).toHaveLength(operations.length);
  expect(provider.auth.schemes).toHaveProperty("bearer");
  const compile = createFormCompiler(256 * 1024);
  const forms = actions.map(({ action_id, input_schema }) => ({ action_id, ...compile(input_schema) }));
  expect(forms.filter(({ ok: isRead }) => !isRead)).toEqual([]);
});
