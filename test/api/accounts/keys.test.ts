import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import type { TestClient } from "../../support/client.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

describe("API keys", () => {
  let api: InProcessApi;
  let org: TestOrganisation;
  let mine: TestClient;
  beforeAll(async () => {
    api = await startInProcess();
    org = await createOrganisation(api);
    mine = checkedClient(api, org.secretKey);
  });
  afterAll(() => api.close());

  it("shows a new key once, and the key works immediately", async () => {
    const created = await mine.post("/v2/api-keys", { name: "ci", kind: "secret" });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ name: "ci", kind: "secret", expires_at: null, last_used_at: null });
    expect(created.body.key).toMatch(/^mr_sec_[0-9A-Za-z]{49}$/);
    expect(created.body.key.startsWith(created.body.prefix)).toBe(true);
    expect((await checkedClient(api, created.body.key).get("/v2/limits")).status).toBe(200);
    const listed = await mine.get("/v2/api-keys", { query: { page_size: 200 } });
    expect(JSON.stringify(listed.body)).not.toContain(created.body.key);
  });

  it("stores only a hash of the key", async () => {
    const { body } = await mine.post(
      "/v2/api-keys",
      { name: "hashed", kind: "public" },
      { headers: { "Idempotency-Key": "hashed" } },
    );
    const tables = ["api_keys", "idempotency_keys"];
    for (const table of tables) {
      const rows = await api.db.system((db) => db.query<{ row: string }>(`select t::text as row from ${table} t`));
      expect(rows.length).toBeGreaterThan(0);
      expect(JSON.stringify(rows)).not.toContain(body.key.slice(20));
    }
  });

  it("returns the same key again for the same Idempotency-Key, but only to the same caller", async () => {
    const headers = { "Idempotency-Key": "once" };
    const first = await mine.post("/v2/api-keys", { name: "once", kind: "public" }, { headers });
    const again = await mine.post("/v2/api-keys", { name: "once", kind: "public" }, { headers });
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    const spelled = { headers: { ...headers, authorization: `bearer  ${org.secretKey}` } };
    expect((await mine.post("/v2/api-keys", { name: "once", kind: "public" }, spelled)).body).toEqual(first.body);
    const other = await mine.post("/v2/api-keys", { name: "other", kind: "secret" });
    const stranger = await checkedClient(api, other.body.key).post(
      "/v2/api-keys",
      { name: "once", kind: "public" },
      { headers },
    );
    const detail = expect.stringContaining("with another credential");
    expect(stranger).toMatchObject({ status: 409, body: { code: "idempotency_conflict", detail } });
  });

  it.each([
    [{}, ["name", "kind"]],
    [{ name: "", kind: "public" }, ["name"]],
    [{ name: "a", kind: "root" }, ["kind"]],
    [{ name: "a", kind: "public", expires_at: "tomorrow" }, ["expires_at"]],
    [{ name: "a", kind: "public", expires_at: "2001-01-01T00:00:00Z" }, ["expires_at"]],
    [{ name: "a", kind: "public", org_id: "x" }, ["org_id"]],
  ])("rejects %j", async (body, places) => {
    const answer = await mine.post("/v2/api-keys", body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail.map((issue: { loc: string[] }) => issue.loc[1])).toEqual(places);
  });

  it.each(["2472-03-12T13:19:15+18:51", "9999-12-31T23:59:59-14:00"])(
    "accepts the time %s, whose offset Postgres cannot parse",
    async (expires_at) => {
      const answer = await mine.post("/v2/api-keys", { name: "a", kind: "public", expires_at });
      expect([answer.status, Date.parse(answer.body.expires_at) > Date.now()]).toEqual([201, true]);
    },
  );

  it("revokes a key immediately in this process, and within five seconds in every process", async () => {
    const second = await startInProcess({ databaseUrl: api.databaseUrl });
    const { body } = await mine.post("/v2/api-keys", { name: "leaked", kind: "secret" });
    const statuses = () =>
      Promise.all([api, second].map(async (each) => (await checkedClient(each, body.key).get("/v2/limits")).status));
    expect(await statuses()).toEqual([200, 200]);
    expect((await mine.delete(`/v2/api-keys/${body.key_id}`)).status).toBe(204);
    expect((await statuses())[0]).toBe(401);
    await expect.poll(statuses, { timeout: 5000 }).toEqual([401, 401]);
    expect((await mine.delete(`/v2/api-keys/${body.key_id}`)).status).toBe(404);
    const listed = await mine.get("/v2/api-keys", { query: { page_size: 200 } });
    expect(JSON.stringify(listed.body)).not.toContain(body.key_id);
    await second.close();
  });
});
