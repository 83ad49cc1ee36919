import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createUser } from "../../../src/cli/accounts.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import type { TestClient } from "../../support/client.ts";
import { askToken, signedInUser } from "./accounts.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

describe("the users API", () => {
  let api: InProcessApi;
  let org: TestOrganisation;
  let mine: TestClient;
  beforeAll(async () => {
    api = await startInProcess();
    org = await createOrganisation(api);
    mine = checkedClient(api, org.secretKey);
  });
  afterAll(() => api.close());

  const PASSWORD = "correct horse battery";
  const signIn = async (username: string, password = PASSWORD): Promise<number> =>
    (await askToken(api, { grant_type: "password", username, password })).status;

  it("creates a user who can sign in, and never shows the password", async () => {
    const created = await mine.post("/v2/users", { email: "Ada@example.test", password: PASSWORD, role: "editor" });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      user_id: expect.any(String),
      email: "Ada@example.test",
      role: "editor",
      disabled: false,
      created_at: expect.any(String),
    });
    expect(await signIn("ada@EXAMPLE.test")).toBe(200);
    const seen = await mine.get(created.headers.get("location") ?? "");
    expect(seen.body).toEqual(created.body);
    expect(seen.headers.get("etag")).toBe(created.headers.get("etag"));
  });

  it("stores no plaintext of the password", async () => {
    await mine.post(
      "/v2/users",
      { email: "trace@example.test", password: "sesame-open-42", role: "viewer" },
      { headers: { "Idempotency-Key": "trace" } },
    );
    for (const table of ["users", "idempotency_keys"]) {
      const rows = await api.db.system((db) => db.query(`select t::text from ${table} t`));
      expect(JSON.stringify(rows)).not.toContain("sesame");
    }
    expect(api.logs()).not.toContain("sesame");
  });

  it("rejects an address that exists in the organisation, in any case", async () => {
    await mine.post("/v2/users", { email: "taken@example.test", password: PASSWORD, role: "viewer" });
    const stranger = checkedClient(api, (await createOrganisation(api)).secretKey);
    const again = { email: "TAKEN@example.test", password: PASSWORD, role: "viewer" };
    expect(await mine.post("/v2/users", again)).toMatchObject({ status: 409, body: { code: "name_taken" } });
    expect((await stranger.post("/v2/users", again)).status).toBe(201);
  });

  it.each([
    [{}, ["email", "password", "role"]],
    [{ email: "nobody", password: PASSWORD, role: "viewer" }, ["email"]],
    [{ email: "a@example.test", password: "short", role: "viewer" }, ["password"]],
    ...["password", "12345678", "elevenchars", "password1234", "PasswordPassword", "qwertyuiop123", "abababababab"].map(
      (password): [object, string[]] => [{ email: "a@example.test", password, role: "viewer" }, ["password"]],
    ),
    // Full-width letters are hashed like plain letters.
    [{ email: "a@example.test", password: "ｐａｓｓｗｏｒｄ１２３４", role: "viewer" }, ["password"]],
    [{ email: "a@example.test", password: PASSWORD, role: "root" }, ["role"]],
    [{ email: "a@example.test", password: PASSWORD, role: "viewer", user_id: "x" }, ["user_id"]],
  ])("rejects %j", async (body, places) => {
    const answer = await mine.post("/v2/users", body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail.map((issue: { loc: string[] }) => issue.loc[1])).toEqual(places);
  });

  it("changes a role, which applies to existing tokens too", async () => {
    const user = await signedInUser(api, org.org_id, "viewer");
    const theirs = checkedClient(api, user.access);
    expect((await theirs.post("/v2/projects", { name: "A" })).status).toBe(403);
    expect((await mine.patch(`/v2/users/${user.user_id}`, { role: "editor" })).body.role).toBe("editor");
    expect((await theirs.post("/v2/projects", { name: "A" })).status).toBe(201);
  });

  it("rejects a change with an outdated ETag", async () => {
    const user = await signedInUser(api, org.org_id, "viewer");
    const path = `/v2/users/${user.user_id}`;
    const etag = (await mine.get(path)).headers.get("etag") ?? "";
    expect((await mine.patch(path, { role: "editor" }, { headers: { "If-Match": etag } })).status).toBe(200);
    expect((await mine.patch(path, { role: "admin" }, { headers: { "If-Match": etag } })).status).toBe(412);
    expect((await mine.get(path)).body.role).toBe("editor");
  });

  it("revokes all sessions when the password changes", async () => {
    const user = await signedInUser(api, org.org_id, "editor");
    expect((await mine.patch(`/v2/users/${user.user_id}`, { password: "another passphrase" })).status).toBe(200);
    expect((await checkedClient(api, user.access).get("/v2/limits")).status).toBe(401);
    expect(await signIn(user.email, user.password)).toBe(400);
    expect(await signIn(user.email, "another passphrase")).toBe(200);
  });

  it("disables and enables a user", async () => {
    const user = await signedInUser(api, org.org_id, "editor");
    const path = `/v2/users/${user.user_id}`;
    expect((await mine.patch(path, { disabled: true })).body.disabled).toBe(true);
    expect((await checkedClient(api, user.access).get("/v2/limits")).status).toBe(401);
    expect(await signIn(user.email, user.password)).toBe(400);
    expect((await askToken(api, { grant_type: "refresh_token", refresh_token: user.refresh })).status).toBe(400);
    expect((await mine.patch(path, { disabled: false })).body.disabled).toBe(false);
    expect(await signIn(user.email, user.password)).toBe(200);
  });

  it("deletes a user with all sessions", async () => {
    const user = await signedInUser(api, org.org_id, "editor");
    const path = `/v2/users/${user.user_id}`;
    expect((await mine.delete(path)).status).toBe(204);
    expect((await mine.get(path)).status).toBe(404);
    expect((await mine.delete(path)).status).toBe(404);
    expect((await checkedClient(api, user.access).get("/v2/limits")).status).toBe(401);
    expect((await mine.post("/v2/users", { email: user.email, password: PASSWORD, role: "viewer" })).status).toBe(201);
  });

  it("rejects a common password", async () => {
    const user = await signedInUser(api, org.org_id, "viewer");
    const answer = await mine.patch(`/v2/users/${user.user_id}`, { password: "1q2w3e4r5t6y" });
    expect([answer.status, answer.body.detail?.[0]?.loc]).toEqual([422, ["body", "password"]]);
    expect(await signIn(user.email, user.password)).toBe(200);
  });

  it("accepts a short password that was set before the length rule", async () => {
    const user = await createUser(api.db, {
      org_id: org.org_id,
      email: "old@example.test",
      role: "viewer",
      password: "12345678",
    });
    expect(await signIn(user.email, "12345678")).toBe(200);
  });

  it("does not disable, demote or delete the last admin", async () => {
    const fresh = await createOrganisation(api);
    const theirs = checkedClient(api, fresh.secretKey);
    const first = await theirs.post("/v2/users", { email: "first@example.test", password: PASSWORD, role: "admin" });
    const path = `/v2/users/${first.body.user_id}`;
    for (const change of [{ role: "editor" }, { disabled: true }]) {
      expect(await theirs.patch(path, change)).toMatchObject({ status: 409, body: { code: "conflict" } });
    }
    expect((await theirs.delete(path)).status).toBe(409);
    const second = await theirs.post("/v2/users", { email: "second@example.test", password: PASSWORD, role: "admin" });
    const both = [path, `/v2/users/${second.body.user_id}`];
    const answers = await Promise.all(both.map((each) => theirs.delete(each)));
    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([204, 409]);
  });
});
