import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { PROBLEMS } from "../../../src/domain/errors.ts";
import { client } from "../../support/client.ts";
import { service } from "../../support/service.ts";
import { document, operations } from "./conformance.ts";
import { rawRequest } from "./raw-request.ts";

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: object;
}
interface DocumentedOperation {
  readonly operationId: string;
  readonly description?: string;
  readonly tags: string[];
  readonly security?: Array<Record<string, string[]>>;
  readonly parameters: Parameter[];
  readonly requestBody?: {
    required: boolean;
    content: Record<string, { schema: object; examples?: Record<string, { value: unknown }> }>;
  };
  readonly responses: Record<
    string,
    { content?: Record<string, unknown>; links?: Record<string, { operationId: string; parameters: object }> }
  >;
}
const documented = new Map<string, DocumentedOperation>(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) =>
        [`${method.toUpperCase()} ${path}`, operation as unknown as DocumentedOperation] as const,
    ),
  ),
);
const byId = new Map([...documented.values()].map((operation) => [operation.operationId, operation]));

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1", async () => {
    const result = await new Validator().validate(structuredClone(document));
    expect(result.errors).toBeUndefined();
    expect(result.valid).toBe(true);
  });

  it("has version 0.1.0 of the interface", () => {
    expect(document).toMatchObject({ openapi: "3.1.0", info: { version: "0.1.0" } });
  });

  it("contains every operation once, with a unique ID", () => {
    expect([...documented.keys()].toSorted()).toEqual(
      operations.map((operation) => `${operation.method} ${operation.path}`).toSorted(),
    );
    expect(byId.size).toBe(operations.length);
  });

  it("has no dangling references", () => {
    const missing: string[] = [];
    const visit = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      const { $ref } = value as { $ref?: unknown };
      if (typeof $ref === "string") {
        const found = $ref
          .slice(2)
          .split("/")
          .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], document);
        if (found === undefined) missing.push($ref);
      }
      Object.values(value).forEach(visit);
    };
    visit(document);
    expect(missing).toEqual([]);
  });

  it.each([...documented])("%s declares every status it can return", (_, operation) => {
    const statuses = Object.keys(operation.responses).map(Number);
    expect(statuses.some((status) => status < 400)).toBe(true);
    expect(statuses).toEqual(expect.arrayContaining([405, 500]));
    if (operation.security) expect(statuses).toEqual(expect.arrayContaining([401, 403, 422, 429, 503]));
    if (operation.parameters.some((parameter) => parameter.in === "path")) expect(statuses).toContain(404);
    if (operation.requestBody) expect(statuses).toEqual(expect.arrayContaining([413, 415]));
    if (operation.parameters.some((parameter) => parameter.$ref?.endsWith("IdempotencyKey")))
      expect(statuses).toContain(409);
  });

  it("has examples that the API accepts, for every JSON body", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    formats.default(ajv);
    ajv.addSchema({ ...document, $id: "api" });
    for (const [name, operation] of documented) {
      const media = operation.requestBody?.content["application/json"];
      if (media === undefined) continue;
      const [method = "", path = ""] = name.split(" ");
      const pointer = `api#/paths/${encodeURIComponent(path.replaceAll("/", "~1"))}/${method.toLowerCase()}/requestBody/content/application~1json/schema`;
      const examples = Object.values(media.examples ?? {});
      expect(examples.length, name).toBeGreaterThan(0);
      for (const { value } of examples) {
        const validate = ajv.compile({ $ref: pointer });
        validate(value);
        expect(validate.errors ?? [], name).toEqual([]);
        const schema = operations.find((each) => each.id === operation.operationId)?.body;
        // Operations whose handler reads the body itself have no schema.
        expect(schema?.safeParse(value).success ?? true, name).toBe(true);
      }
    }
  });

  it("describes every operation, and has a valid example of every JSON response", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    formats.default(ajv);
    ajv.addSchema({ ...document, $id: "api" });
    let examples = 0;
    for (const [name, { operationId, description = "", responses }] of documented) {
      expect(description.length, operationId).toBeGreaterThan(20);
      for (const [status, { content = {} }] of Object.entries(responses)) {
        const media = content["application/json"] as { example?: unknown } | undefined;
        if (!status.startsWith("2") || media === undefined) continue;
        const [method = "", path = ""] = name.split(" ");
        const pointer = `api#/paths/${encodeURIComponent(path.replaceAll("/", "~1"))}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`;
        const validate = ajv.compile({ $ref: pointer });
        validate(media.example);
        expect([operationId, validate.errors ?? []]).toEqual([operationId, []]);
        // Every example of a response has content, except the OpenAPI document itself.
        if (operationId !== "getOpenApi") expect(JSON.stringify(media.example).length, operationId).toBeGreaterThan(10);
        examples++;
      }
    }
    expect(examples).toBeGreaterThan(120);
  });

  it("names schemas with words, and has no meaningless bounds", () => {
    const names = Object.keys(document.components.schemas);
    expect(names.filter((name) => !/^[A-Z][A-Za-z0-9]+$/.test(name))).toEqual([]);
    expect(JSON.stringify(document)).not.toContain("9007199254740991");
  });

  it("has no schema with a property of its own name, which generated clients would confuse", () => {
    const snakeCase = (name: string): string => name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
    const schemas = Object.entries(document.components.schemas as Record<string, { properties?: object }>);
    expect(
      schemas.filter(([name, { properties = {} }]) => snakeCase(name) in properties).map(([name]) => name),
    ).toEqual([]);
  });

  it("has links to existing operations, with existing parameters", () => {
    let links = 0;
    for (const { responses } of documented.values()) {
      for (const response of Object.values(responses)) {
        for (const link of Object.values(response.links ?? {})) {
          const target = byId.get(link.operationId);
          expect(target, link.operationId).toBeDefined();
          const names = target?.parameters.map((parameter) => parameter.name) ?? [];
          for (const name of Object.keys(link.parameters))
            expect(names.map((each) => each)).toContain(name.replace(/^(path|query)\./, ""));
          links++;
        }
      }
    }
    expect(links).toBeGreaterThan(3);
  });

  it("declares the password flow with token URL `token` and no scopes, only for operations of public keys", () => {
    const { securitySchemes } = document.components as unknown as { securitySchemes: Record<string, unknown> };
    expect(securitySchemes["OAuth2PasswordBearer"]).toEqual({
      type: "oauth2",
      flows: { password: { tokenUrl: "token", scopes: {} } },
    });
    for (const operation of operations) {
      const shown = byId.get(operation.id)?.security;
      if (operation.auth === "public") expect(shown).toEqual([{ OAuth2PasswordBearer: [] }]);
      const optional = operation.visitor === "optional" ? [{}] : [];
      if (operation.visitor !== undefined) expect(shown).toEqual([...optional, { Visitor: [] }]);
      else if (operation.auth === "none") expect(shown).toBeUndefined();
    }
  });

  it("has no parameters so long that the service cannot read them together", async () => {
    const addresses = [...documented].map(([operation, { parameters }]) => {
      const texts = parameters.flatMap(({ name, schema }) =>
        schema !== undefined && "maxLength" in schema
          ? [[name, "\u{10348}".repeat(Number(schema.maxLength))] as const]
          : [],
      );
      return `${operation.slice(operation.indexOf("/"))}?${new URLSearchParams(Object.fromEntries(texts)).toString()}`;
    });
    const [longest = ""] = addresses.toSorted((a, b) => b.length - a.length);
    expect(longest.length).toBeGreaterThan(16 * 1024);
    expect(await client(service()).get(longest)).toMatchObject({ status: 401 });
  });

  it("has the shape of a validation error from interface.md", () => {
    expect(document.components.schemas).toMatchObject({
      HTTPValidationError: {
        properties: { detail: { type: "array", items: { $ref: "#/components/schemas/ValidationError" } } },
      },
      ValidationError: {
        required: ["loc", "msg", "type"],
        properties: { loc: { title: "Location" }, msg: { title: "Message" }, type: { title: "Error Type" } },
      },
    });
  });

  it("lists every error code", () => {
    const { Problem } = document.components.schemas as { Problem: { properties: { code: { enum: string[] } } } };
    expect(Problem.properties.code.enum).toEqual(Object.keys(PROBLEMS));
  });
});

describe("the served document", () => {
  const api = service();

  it("is the same document, with an ETag", async () => {
    const answer = await client(api).get("/openapi.json");
    expect([answer.status, answer.body]).toEqual([200, document]);
    const again = await client(api).get("/openapi.json", {
      headers: { "if-none-match": answer.headers.get("etag") ?? "" },
    });
    expect([again.status, again.body]).toEqual([304, ""]);
  });

  it("has a page that loads nothing from other sites and runs no inline script", async () => {
    const page = await client(api).get("/docs");
    expect(page.status).toBe(200);
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'self';");
    expect(policy).not.toMatch(/unsafe|https?:|data:|script-src|connect-src/);
    expect(page.body).not.toMatch(/https?:\/\//);
    expect(page.body).not.toMatch(/<script>|<style|onload=|style=/);
    const parts = [...String(page.body).matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) {
      const response = await client(api).raw("GET", part);
      expect([part, response.status]).toEqual([part, 200]);
      expect(response.headers.get("content-type")).toMatch(/css|javascript|svg/);
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(50);
    }
  });

  it("path-traversal: exposes no other files", async () => {
    for (const file of [
      "package.json",
      "..%2fpackage.json",
      "%2e%2e/package.json",
      "index.html",
      "createRun",
      "__proto__",
      "constructor",
    ]) {
      expect((await client(api).get(`/docs/${file}`)).status).toBe(404);
    }
  });

  it("has the page of the console, byte for byte", async () => {
    const page = await client(api).get("/docs");
    expect(page.body).toBe(readFileSync("dist/web/index.html", "utf8"));
    expect((await client(api).get("/console")).body).toBe(page.body);
  });

  it("is compressed if the client accepts it", async () => {
    const plain = await rawRequest(api, { method: "GET", path: "/openapi.json", headers: {} });
    const zipped = await rawRequest(api, {
      method: "GET",
      path: "/openapi.json",
      headers: { "accept-encoding": "gzip, br" },
    });
    expect([plain.headers["content-encoding"], zipped.headers["content-encoding"]]).toEqual([undefined, "gzip"]);
    expect(zipped.headers["vary"]).toContain("Accept-Encoding");
    expect(JSON.parse(plain.body)).toEqual(document);
  });
});
