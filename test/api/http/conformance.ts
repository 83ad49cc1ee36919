import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { expect } from "vitest";
import { describeOperations } from "../../../src/api/operations.ts";
import { loadConfig } from "../../../src/config.ts";
import { client, type Answer, type RequestOptions, type TestClient } from "../../support/client.ts";

type Media = Readonly<Record<string, { readonly schema?: unknown }>>;
type Response = { readonly $ref?: string; readonly content?: Media };
type Paths = Record<string, Record<string, { responses: Record<string, Response> }>>;

export const operations = describeOperations(loadConfig({ DATABASE_URL: "postgres://nowhere/" }));
/** The published document; generating it would take seconds in each process. openapi.test.ts checks that it is up to date. */
export const document = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8")) as {
  paths: Paths;
  components: { schemas: object; responses: Record<string, Response> };
};

// Schemas shared by operations are compiled once, without optimisation, because most of them check few responses.
const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  validateFormats: true,
  inlineRefs: false,
  code: { optimize: false },
});
formats.default(ajv);
ajv.addSchema({ ...document, $id: "api" });
const compiled = new Map<string, ValidateFunction>();
const routes = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

/** Fails unless the document allows this response of the operation: status, content type, and schema. */
export function expectDocumented(method: string, path: string, answer: Answer): void {
  const name = path.replace(/\?.*$/, "");
  const route = routes.find(({ pattern }) => pattern.test(name))?.path;
  const operation = route === undefined ? undefined : document.paths[route]?.[method.toLowerCase()];
  if (route === undefined || operation === undefined) {
    expect([404, 405]).toContain(answer.status);
    return;
  }
  const declared = operation.responses[answer.status];
  const shared = declared?.$ref?.split("/").at(-1);
  const response = shared === undefined ? declared : document.components.responses[shared];
  expect(response, `${method} ${route} answered ${answer.status}, which is not documented`).toBeDefined();
  const type = (answer.headers.get("content-type") ?? "").split(";", 1)[0] ?? "";
  if (response?.content === undefined) {
    expect(answer.body).toBe("");
    return;
  }
  expect(Object.keys(response.content)).toContain(type);
  const place =
    shared === undefined
      ? `paths/${escape(route)}/${method.toLowerCase()}/responses/${answer.status}`
      : `components/responses/${shared}`;
  const pointer = `api#/${place}/content/${escape(type)}/schema`;
  if (response.content[type]?.schema === undefined) return;
  let validate = compiled.get(pointer);
  if (!validate) compiled.set(pointer, (validate = ajv.compile({ $ref: pointer })));
  validate(answer.body);
  expect(validate.errors ?? [], JSON.stringify(answer.body)).toEqual([]);
}

function escape(part: string): string {
  return encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
}

/** A client that checks every response against the OpenAPI document. */
export function checkedClient(target: { readonly url: string }, credential?: string): TestClient {
  const plain = client(target, credential);
  const check = async (method: string, path: string, work: Promise<Answer>): Promise<Answer> => {
    const answer = await work;
    expectDocumented(method, path, answer);
    return answer;
  };
  return {
    ...plain,
    get: (path, options?: RequestOptions) => check("GET", path, plain.get(path, options)),
    post: (path, body, options) => check("POST", path, plain.post(path, body, options)),
    patch: (path, body, options) => check("PATCH", path, plain.patch(path, body, options)),
    put: (path, body, options) => check("PUT", path, plain.put(path, body, options)),
    delete: (path, options) => check("DELETE", path, plain.delete(path, options)),
  };
}
