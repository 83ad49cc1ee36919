import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Answer, TestClient } from "../../support/client.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { checkedClient } from "../http/conformance.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { places, subscribe } from "../webhooks/webhooks.ts";

const PATH = "/v2/connections";
const UNKNOWN = `${PATH}/0197f0a0-0000-7000-8000-000000000000`;
const KEY = "planted-key-7f3a91";

let mine: ApiTenant;
let others: ApiTenant;
let viewer: TestClient;
let upstream: HttpTarget;
beforeAll(async () => {
  upstream = await startHttpTarget();
  [mine, others] = await Promise.all([openTenant(), openTenant()]);
  viewer = await mine.user("viewer");
});
afterAll(() => upstream?.close());
afterEach(() => upstream.reset());

/** Makes the model server accept only this key. */
function modelsTake(key: string): void {
  upstream.on("/models", (request, response) => {
    response.writeHead(request.headers["authorization"] === `Bearer ${key}` ? 200 : 401).end("{}");
  });
}

const models = (api_key = KEY): Record<string, unknown> => ({
  name: "Models",
  provider_id: "openai_compatible",
  scheme: "api_key",
  credential: { base_url: upstream.url, api_key },
});

async function create(members: Record<string, unknown> = models()): Promise<Answer> {
  const answer = await mine.secret.post(PATH, members);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer;
}

describe("creating a connection", () => {
  it("finds the scheme by the credential's fields, and names missing fields", async () => {
    modelsTake(KEY);
    const { scheme: _, ...unnamed } = models();
    expect((await create(unnamed)).body.scheme).toBe("api_key");
    const of = (credential: object) => ({ name: "c", provider_id: "http", credential });
    const base_url = upstream.url;
    expect((await create(of({ base_url, token: KEY }))).body.scheme).toBe("bearer");
    expect((await create(of({ base_url, username: "u", password: KEY }))).body.scheme).toBe("basic");
    const half = await mine.secret.post(PATH, of({ base_url, username: "u" }));
    expect([half.status, places(half)]).toEqual([422, [["body", "credential", "password"]]]);
    const client = await mine.secret.post(PATH, of({ base_url, client_id: "c", client_secret: KEY }));
    expect(places(client)).toEqual([["body", "credential", "token_url"]]);
    expect(places(await mine.secret.post(PATH, of({ base_url })))).toEqual([["body", "scheme"]]);
  });

  it("tests the credential and never shows it, in this response or later", async () => {
    modelsTake(KEY);
    const created = await create();
    expect(created.body).toEqual({
      connection_id: expect.any(String),
      name: "Models",
      provider_id: "openai_compatible",
      scheme: "api_key",
      status: "active",
      status_reason: null,
      last_checked_at: expect.any(String),
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const path = `${PATH}/${created.body.connection_id}`;
    expect(created.headers.get("location")).toBe(path);
    const read = await viewer.get(path);
    expect([read.body, read.headers.get("etag")]).toEqual([created.body, created.headers.get("etag")]);
    const { body: page } = await viewer.get(PATH, { query: { page_size: 1 } });
    expect(page.data).toEqual([created.body]);
    expect(await storedTexts()).not.toContain(KEY);
  });

  it("keeps a connection whose credential is rejected, with the reason, and sends an event once", async () => {
    modelsTake("another key");
    const { id, path } = await subscribe(mine.secret, { url: `${upstream.url}/hook`, events: ["connection.error"] });
    const { body } = await create();
    expect([body.status, body.status_reason]).toEqual(["error", `${upstream.url} returned status 401.`]);
    await expect.poll(() => upstream.hits("/hook")).toBe(1);
    const sent = JSON.parse(upstream.requests.find((request) => request.path === "/hook")?.body ?? "{}");
    expect(sent).toMatchObject({
      type: "connection.error",
      data: { connection_id: body.connection_id, name: "Models", provider_id: "openai_compatible" },
    });
    expect(JSON.stringify(sent)).not.toContain(KEY);
    // Reported once, however often it is checked: no second event is written, whose delivery might only be late.
    const checks = [1, 2].map(() => mine.secret.post(`${PATH}/${body.connection_id}/check`));
    for (const { body: checked } of await Promise.all(checks)) expect(checked.status).toBe("error");
    const events = await mine.withDatabase((database) =>
      database.system((db) =>
        db.query("select event_id from outbox where type = 'connection.error' and data->>'connection_id' = $1", [
          body.connection_id,
        ]),
      ),
    );
    const { body: deliveries } = await mine.secret.get(`${path}/deliveries`);
    expect([events.length, deliveries.data.length, id]).toEqual([1, 1, id]);
    // A connection that recovers and fails again is reported again.
    modelsTake(KEY);
    await mine.secret.post(`${PATH}/${body.connection_id}/check`);
    modelsTake("another key");
    await mine.secret.post(`${PATH}/${body.connection_id}/check`);
    await expect.poll(() => upstream.hits("/hook")).toBe(2);
  });

  it("requests a new token from the token service on each check, even if one is stored", async () => {
    let good = true;
    upstream.on("/token", (_, response) => {
      response.writeHead(good ? 200 : 400, { "content-type": "application/json" });
      response.end(JSON.stringify(good ? { access_token: "t", expires_in: 3600 } : { error: "invalid_client" }));
    });
    const { body } = await create({
      name: "OAuth",
      provider_id: "http",
      scheme: "oauth2_client_credentials",
      credential: {
        base_url: upstream.url,
        token_url: `${upstream.url}/token`,
        client_id: "c",
        client_secret: KEY,
      },
    });
    expect(body.status).toBe("active");
    good = false;
    const checked = await mine.secret.post(`${PATH}/${body.connection_id}/check`);
    expect([checked.body.status, checked.body.status_reason]).toEqual([
      "error",
      expect.stringContaining("invalid_client"),
    ]);
  });

  it("sets status unverified if the service is unreachable or offers no check", async () => {
    upstream.on("/models", (_, response) => void response.writeHead(500).end(KEY));
    const away = await create();
    expect([away.body.status, away.body.status_reason]).toEqual([
      "unverified",
      `${upstream.url} returned status 500, which does not show whether the credential works.`,
    ]);
    const silent = await create({
      name: "Any",
      provider_id: "http",
      scheme: "bearer",
      credential: { base_url: upstream.url, token: KEY },
    });
    expect(silent.body).toMatchObject({ status: "unverified", status_reason: null, last_checked_at: null });
    const refused = await create(models(KEY.repeat(2)));
    expect(JSON.stringify(refused.body)).not.toContain(KEY);
  });

  it("blocks private addresses that are not allowed (ssrf)", async () => {
    const { body } = await create({
      ...models(),
      credential: { base_url: "http://169.254.169.254/latest", api_key: KEY },
    });
    expect(body.status).toBe("unverified");
    expect(body.status_reason).toMatch(/not allowed|private/i);
  });

  it("happens once per Idempotency-Key", async () => {
    const options = { headers: { "Idempotency-Key": "connection-once" } };
    const first = await mine.secret.post(PATH, models(), options);
    const again = await mine.secret.post(PATH, models(), options);
    expect([again.status, again.body]).toEqual([201, first.body]);
  });

  it.each([
    [{ name: "" }, [["body", "name"]]],
    [{ provider_id: "nobody" }, [["body", "provider_id"]]],
    [{ provider_id: "millrace" }, [["body", "provider_id"]]],
    [{ scheme: undefined, provider_id: "http", credential: { base_url: "https://example.com" } }, [["body", "scheme"]]],
    [{ scheme: "basic" }, [["body", "scheme"]]],
    [{ credential: { base_url: "https://example.com" } }, [["body", "credential", "api_key"]]],
    [{ credential: { base_url: "file:///etc/passwd", api_key: KEY } }, [["body", "credential", "base_url"]]],
    [
      { credential: { base_url: "https://example.com", api_key: `${KEY}\r\nx: y` } },
      [["body", "credential", "api_key"]],
    ],
    [{ credential: { base_url: "https://example.com", api_key: KEY, more: 1 } }, [["body", "credential"]]],
  ])("rejects %j", async (members, expected) => {
    const answer = await mine.secret.post(PATH, { ...models(), ...members });
    expect(places(answer)).toEqual(expected);
    expect(JSON.stringify(answer.body)).not.toContain(KEY);
  });
});

describe("a connection by oauth2_client_credentials", () => {
  it("is tested by requesting a token, in the form that the service accepts", async () => {
    upstream.on("/token", (request, response) => {
      const inForm = new URLSearchParams(request.body).get("client_secret") === KEY;
      response.writeHead(inForm ? 200 : 401, { "content-type": "application/json" });
      response.end(
        JSON.stringify(inForm ? { access_token: "t", expires_in: 3600 } : { error: "invalid_client", echo: KEY }),
      );
    });
    const credential = {
      base_url: upstream.url,
      token_url: `${upstream.url}/token`,
      client_id: "c",
      client_secret: KEY,
    };
    const connection = { name: "Billing", provider_id: "http", scheme: "oauth2_client_credentials", credential };
    expect((await create(connection)).body.status).toBe("active");
    const { body } = await create({ ...connection, credential: { ...credential, client_secret: "wrong" } });
    expect(body).toMatchObject({
      status: "error",
      status_reason: `The token service ${upstream.url} returned no token (401: invalid_client).`,
    });
  });
});

describe("changing a connection", () => {
  it("renames, replaces the credential, disables and enables; each with If-Match", async () => {
    modelsTake("new key");
    const { body: made, headers } = await create();
    const path = `${PATH}/${made.connection_id}`;
    expect(made.status).toBe("error");
    const options = { headers: { "If-Match": headers.get("etag") ?? "" } };
    const renamed = await mine.secret.patch(path, { name: "Renamed" }, options);
    expect([renamed.status, renamed.body.name, renamed.body.status]).toEqual([200, "Renamed", "error"]);
    expect((await mine.secret.patch(path, { name: "Late" }, options)).status).toBe(412);
    const rotated = await mine.secret.patch(path, { credential: { base_url: upstream.url, api_key: "new key" } });
    expect(rotated.body).toMatchObject({ status: "active", status_reason: null });
    expect((await mine.secret.patch(path, { disabled: true })).body.status).toBe("disabled");
    const refused = await mine.secret.post(`${path}/check`);
    expect([refused.status, refused.body.code]).toEqual([409, "conflict"]);
    expect((await mine.secret.patch(path, { disabled: false })).body.status).toBe("active");
    expect(places(await mine.secret.patch(path, { scheme: "none" }))).toEqual([["body", "credential"]]);
  });
});

it("can be listed by provider and status", async () => {
  const api = await openTenant();
  modelsTake(KEY);
  const { body } = await api.secret.post(PATH, models());
  await api.secret.post(PATH, {
    name: "Any",
    provider_id: "slack",
    scheme: "bearer",
    credential: { token: "x", base_url: upstream.url },
  });
  for (const query of [{ provider_id: "openai_compatible" }, { status: "active" }]) {
    const { body: page } = await api.secret.get(PATH, { query });
    expect(page.data).toEqual([body]);
  }
});

it("deletes the credential with the connection", async () => {
  const { body } = await create();
  const path = `${PATH}/${body.connection_id}`;
  expect((await mine.secret.delete(path)).status).toBe(204);
  for (const answer of [
    await mine.secret.get(path),
    await mine.secret.delete(path),
    await mine.secret.post(`${path}/check`),
  ])
    expect([answer.status, answer.body.code]).toEqual([404, "not_found"]);
});

it("connections require a credential and a role, and are hidden from other organisations", async () => {
  const path = `${PATH}/${(await create()).body.connection_id}`;
  const editor = await mine.user("editor");
  expect((await checkedClient(mine.target).get(PATH)).status).toBe(401);
  expect((await mine.public.get(PATH)).status).toBe(403);
  expect((await editor.post(PATH, models())).status).toBe(403);
  expect((await editor.patch(path, { name: "x" })).status).toBe(403);
  expect((await editor.delete(path)).status).toBe(403);
  expect((await viewer.post(`${path}/check`)).status).toBe(403);
  for (const strange of [path, UNKNOWN]) {
    expect((await others.secret.get(strange)).status).toBe(404);
    expect((await others.secret.patch(strange, { name: "x" })).status).toBe(404);
    expect((await others.secret.delete(strange)).status).toBe(404);
  }
});

/** All that the database stores about connections and events, as text. */
function storedTexts(): Promise<string> {
  return mine.withDatabase((database) =>
    database.system(async (db) => {
      const rows = await db.query(
        "select to_jsonb(c)::text as row, encode(credential, 'escape') as bytes from connections c",
      );
      return JSON.stringify([rows, await db.query("select data from outbox")]);
    }),
  );
}
