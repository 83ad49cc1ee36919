import { afterAll, beforeAll, expect, it } from "vitest";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";

const KEY = "planted-key-51f0aa";

let mine: ApiTenant;
let upstream: HttpTarget;
beforeAll(async () => {
  [mine, upstream] = await Promise.all([openTenant(), startHttpTarget()]);
});
afterAll(() => upstream?.close());

it("an imported operation sends its cookie parameters together with a cookie key", async () => {
  const cookie = (name: string) => ({ name, in: "cookie", schema: { type: "string" } });
  const openapi = {
    openapi: "3.1.0",
    info: { title: "Cookie Shop", version: "1" },
    servers: [{ url: upstream.url }],
    security: [{ key: [] }],
    paths: {
      "/orders": {
        get: {
          operationId: "listOrders",
          parameters: [cookie("lang"), cookie("theme")],
          responses: { 200: { description: "ok" } },
        },
      },
    },
    components: { securitySchemes: { key: { type: "apiKey", in: "cookie", name: "sid" } } },
  };
  const imported = await mine.secret.post("/v2/providers", { openapi });
  expect(imported.status, JSON.stringify(imported.body)).toBe(201);
  const { body: connection } = await mine.secret.post("/v2/connections", {
    name: "Shop",
    provider_id: "cookie-shop",
    credential: { api_key: KEY },
  });
  const run = async (inputs: Record<string, string>) => {
    const body = { inputs, connection_id: connection.connection_id };
    const answer = await mine.secret.post("/v2/providers/cookie-shop/actions/listOrders/run", body);
    expect([answer.status, answer.body.successful], JSON.stringify(answer.body)).toEqual([200, true]);
    expect(JSON.stringify(answer.body)).not.toContain(KEY);
    const sent = upstream.requests.at(-1)?.headers["cookie"] ?? "";
    return sent.split("; ").toSorted();
  };
  expect(await run({ lang: "pt BR", theme: "dark" })).toEqual(["lang=pt%20BR", `sid=${KEY}`, "theme=dark"]);
  expect(await run({ lang: "en" })).toEqual(["lang=en", `sid=${KEY}`]);
  expect(await run({})).toEqual([`sid=${KEY}`]);
});

it("an imported operation sends all the keys that it requires together", async () => {
  const openapi = {
    openapi: "3.1.0",
    info: { title: "Search Shop", version: "1" },
    servers: [{ url: upstream.url }],
    security: [{ "app-id": [], token: [], sid: [], tracking: [], key: [] }],
    paths: { "/find": { get: { operationId: "find", responses: { 200: { description: "ok" } } } } },
    components: {
      securitySchemes: {
        "app-id": { type: "apiKey", in: "header", name: "X-App-Id" },
        key: { type: "apiKey", in: "query", name: "key" },
        sid: { type: "apiKey", in: "cookie", name: "sid" },
        tracking: { type: "apiKey", in: "cookie", name: "tracking" },
        token: { type: "http", scheme: "bearer" },
      },
    },
  };
  const imported = await mine.secret.post("/v2/providers", { openapi });
  expect(imported.status, JSON.stringify(imported.body)).toBe(201);
  const keys = Object.fromEntries(
    ["app_id", "token", "sid", "tracking", "key"].map((name) => [name, `${KEY}-${name}`]),
  );
  const { app_id, ...others } = keys;
  const connect = (credential: object) =>
    mine.secret.post("/v2/connections", { name: "Search", provider_id: "search-shop", scheme: "api_keys", credential });
  const refused = await connect(others);
  expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ["body", "credential", "app_id"]]);
  const { status, body: connection } = await connect({ ...others, app_id });
  expect([status, connection.scheme], JSON.stringify(connection)).toEqual([201, "api_keys"]);
  const answer = await mine.secret.post("/v2/providers/search-shop/actions/find/run", {
    inputs: {},
    connection_id: connection.connection_id,
  });
  expect([answer.status, answer.body.successful], JSON.stringify(answer.body)).toEqual([200, true]);
  expect(JSON.stringify(answer.body)).not.toContain(KEY);
  const sent = upstream.requests.at(-1);
  expect(sent?.headers).toMatchObject({
    "x-app-id": `${KEY}-app_id`,
    authorization: `Bearer ${KEY}-token`,
    cookie: `sid=${KEY}-sid; tracking=${KEY}-tracking`,
  });
  expect(new URL(sent?.url ?? "", upstream.url).searchParams.get("key")).toBe(`${KEY}-key`);
});
