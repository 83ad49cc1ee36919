import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSignInLink } from "../../../src/services/accounts/sessions.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import type { Answer } from "../../support/client.ts";
import { checkedClient } from "../http/conformance.ts";
import { newUser } from "./accounts.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

let api: InProcessApi;
let org: TestOrganisation;
let admin: Awaited<ReturnType<typeof newUser>>;
let viewer: Awaited<ReturnType<typeof newUser>>;
beforeAll(async () => {
  api = await startInProcess();
  org = await createOrganisation(api, "Analytical Engines");
  [admin, viewer] = await Promise.all([
    newUser(api.db, { org_id: org.org_id, email: "admin@example.test", role: "admin" }),
    newUser(api.db, { org_id: org.org_id, email: "viewer@example.test", role: "viewer" }),
  ]);
});
afterAll(() => api.close());

const nobody = () => checkedClient(api);
const signIn = (body: object, headers: Record<string, string> = {}): Promise<Answer> =>
  nobody().post("/console/session", body, { headers });
const cookieOf = (answer: Answer): string => (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
/** Creates a session of a user without the cost of a password check. */
async function sessionOf(user: { org_id: string; user_id: string }): Promise<string> {
  return cookieOf(await signIn({ link: await createSignInLink(api.db, user) }));
}
/** The headers that a page of the console sends. */
const own = (cookie: string) => ({ headers: { cookie, "sec-fetch-site": "same-origin" } });

describe("signing in to the console", () => {
  it("opens a session with a password, in a cookie that scripts cannot read", async () => {
    const answer = await signIn({ email: "ADMIN@example.test", password: admin.password });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      type: "user",
      role: "admin",
      user: { user_id: admin.user_id, email: "admin@example.test" },
      organisation: { org_id: org.org_id, name: "Analytical Engines" },
    });
    expect(answer.headers.get("set-cookie")).toMatch(
      /^millrace_session=mr_ss_\w+; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(JSON.stringify(answer.body)).not.toContain("mr_ss_");
    const me = await nobody().get("/v2/me", { headers: { cookie: `other=1; ${cookieOf(answer)}` } });
    expect(me).toMatchObject({ status: 200, body: answer.body });
    const rows = await api.db.system((db) => db.query("select s::text from sessions s"));
    expect(JSON.stringify(rows)).not.toContain("mr_ss_");
  });

  it("returns the same response for a wrong password and an unknown address, and counts both with /token", async () => {
    const wrong = await signIn({ email: viewer.email, password: "wrong" });
    const unknown = await signIn({ email: "nobody@example.test", password: "wrong" });
    expect(wrong.status).toBe(401);
    expect({ ...wrong.body, request_id: "" }).toEqual({ ...unknown.body, request_id: "" });
    expect(wrong.headers.get("set-cookie")).toBeNull();
    const counts = await api.db.system((db) => db.query("select points from rate_limits where key like 'sign-in:%'"));
    expect(counts.length).toBeGreaterThanOrEqual(2);
  });

  it.each([{}, { email: "a@example.test" }, { email: "", password: "x" }, { link: 1 }, { link: "x", password: "y" }])(
    "rejects %j",
    async (body) => {
      expect((await signIn(body)).status).toBe(422);
    },
  );

  it("accepts a link once, and not after it has expired", async () => {
    const link = await createSignInLink(api.db, viewer);
    const first = await signIn({ link });
    expect(first).toMatchObject({ status: 201, body: { user: { email: viewer.email } } });
    expect(await signIn({ link })).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    const late = await createSignInLink(api.db, viewer);
    await api.db.system((db) => db.query("update sign_in_links set expires_at = now() - interval '1 second'"));
    expect((await signIn({ link: late })).status).toBe(401);
    expect((await signIn({ link: "mr_ln_nonsense" })).status).toBe(401);
  });

  it("sets a Secure, host-bound cookie if the public URL uses HTTPS", async () => {
    const https = await startInProcess({
      databaseUrl: api.databaseUrl,
      env: { MILLRACE_PUBLIC_URL: "https://millrace.example/" },
    });
    try {
      const link = await createSignInLink(api.db, viewer);
      const answer = await checkedClient(https).post("/console/session", { link });
      expect(answer.headers.get("set-cookie")).toMatch(
        /^__Host-millrace_session=mr_ss_\w+; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      );
    } finally {
      await https.close();
    }
  });
});

describe("a session", () => {
  it("allows all of /v2 and the documents of flows with the role of its user, and nothing else", async () => {
    const cookie = await sessionOf(viewer);
    expect((await nobody().get("/v2/runs", { headers: { cookie } })).status).toBe(200);
    const refused = await nobody().post("/v2/projects", { name: "x" }, own(cookie));
    expect(refused).toMatchObject({
      status: 403,
      body: { detail: "This requires the role editor; your role is viewer." },
    });
    const address = `/inference/v0/run/${org.org_id}/0197f0a0-0000-7000-8000-000000000000`;
    expect((await nobody().post(address, {}, own(cookie))).status).toBe(401);
    const documents = `/documents/${org.org_id}/0197f0a0-0000-7000-8000-000000000000/doc-0/ada-1`;
    expect((await nobody().get(documents, { headers: { cookie } })).status).toBe(404);
    expect((await nobody().delete(documents, { headers: { cookie } })).status).toBe(403);
    // The secret of a cookie is not a bearer token, and a token is not a cookie.
    const secret = cookie.replace("millrace_session=", "");
    expect((await checkedClient(api, secret).get("/v2/me")).status).toBe(401);
    const asCookie = { headers: { cookie: `millrace_session=${org.secretKey}` } };
    expect((await nobody().get("/v2/me", asCookie)).status).toBe(401);
  });

  it("is rejected together with an Authorization header", async () => {
    const cookie = await sessionOf(admin);
    const both = await checkedClient(api, org.secretKey).get("/v2/me", { headers: { cookie } });
    expect(both).toMatchObject({ status: 401, body: { code: "unauthorized" } });
  });

  it("console-csrf: cannot change anything from a page of another origin", async () => {
    const cookie = await sessionOf(admin);
    const create = (headers: Record<string, string>) =>
      nobody().post("/v2/projects", { name: "csrf" }, { headers: { cookie, ...headers } });
    const { host } = new URL(api.url);
    const foreign: Array<Record<string, string>> = [
      { "sec-fetch-site": "cross-site" },
      // Another port of the same host counts as the same site, so SameSite cookies are sent.
      { "sec-fetch-site": "same-site", origin: "http://127.0.0.1:1" },
      { "sec-fetch-site": "none" },
      { "sec-fetch-site": "cross-site", origin: api.url },
      { origin: "http://evil.example" },
      { origin: "null" },
      { origin: `http://${host}.evil.example` },
      {},
    ];
    for (const headers of foreign) {
      expect(await create(headers), JSON.stringify(headers)).toMatchObject({
        status: 403,
        body: { code: "forbidden" },
      });
    }
    expect((await nobody().delete("/console/session", { headers: { cookie, origin: "null" } })).status).toBe(403);
    const rows = await api.db.system((db) => db.query("select from projects where name = 'csrf'"));
    expect(rows).toHaveLength(0);
    expect((await create({ "sec-fetch-site": "same-origin" })).status).toBe(201);
    expect((await create({ origin: api.url })).status).toBe(201);
    // Another site cannot sign anyone in.
    const link = await createSignInLink(api.db, viewer);
    expect((await signIn({ link }, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await signIn({ link }, { "sec-fetch-site": "same-origin" })).status).toBe(201);
  });

  it("replays a response with a secret only to the same session", async () => {
    const [one, other] = [await sessionOf(admin), await sessionOf(admin)];
    const create = (cookie: string) =>
      nobody().post(
        "/v2/api-keys",
        { name: "k", kind: "public" },
        { headers: { ...own(cookie).headers, "Idempotency-Key": "session-key" } },
      );
    const first = await create(one);
    expect((await create(one)).body).toEqual(first.body);
    expect((await create(other)).status).toBe(409);
  });

  it("is listed for its user, and for an admin with all others", async () => {
    const [mine, others] = [await sessionOf(viewer), await sessionOf(admin)];
    const list = async (cookie: string, query = "") =>
      (await nobody().get(`/v2/sessions${query}`, { headers: { cookie, "user-agent": "ours" } })).body.data;
    const own = await list(mine);
    expect(new Set(own.map((each: { email: string }) => each.email))).toEqual(new Set([viewer.email]));
    expect(own.filter((each: { current: boolean }) => each.current)).toHaveLength(1);
    const all = await list(others);
    expect(new Set(all.map((each: { email: string }) => each.email))).toEqual(new Set([viewer.email, admin.email]));
    expect(await list(others, `?user_id=${viewer.user_id}`)).toHaveLength(own.length);
    const refused = await nobody().get(`/v2/sessions?user_id=${admin.user_id}`, { headers: { cookie: mine } });
    expect(refused.status).toBe(403);
    expect((await nobody().get("/v2/sessions")).status).toBe(401);
    expect((await checkedClient(api, org.secretKey).get("/v2/sessions?page_size=0")).status).toBe(422);
  });

  it("of a client that renews its tokens counts as one, is listed and can be ended", async () => {
    const token = (form: Record<string, string>) =>
      nobody().post("/token", new URLSearchParams(form), { headers: { "user-agent": "a script" } });
    const password = { grant_type: "password", username: viewer.email, password: viewer.password };
    const first = await token(password);
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    const renew = ({ body }: Answer) => token({ grant_type: "refresh_token", refresh_token: body.refresh_token });
    const list = async (cookie: string): Promise<Array<Record<string, unknown>>> => {
      const { body } = await nobody().get("/v2/sessions?page_size=100", { headers: { cookie } });
      return body.data.filter(({ kind }: { kind: string }) => kind === "token");
    };
    const cookie = await sessionOf(viewer);
    const [before] = await list(cookie);
    expect(before).toMatchObject({ email: viewer.email, user_agent: "a script", current: false });
    const second = await renew(first);
    expect((await list(cookie)).map(({ session_id, created_at }) => [session_id, created_at])).toEqual([
      [before?.["session_id"], before?.["created_at"]],
    ]);
    const works = async (access: string) => (await checkedClient(api, access).get("/v2/me")).status;
    const other = await token(password);
    expect(await works(second.body.access_token)).toBe(200);
    const path = `/v2/sessions/${String(before?.["session_id"])}`;
    const stranger = checkedClient(api, (await createOrganisation(api)).secretKey);
    expect((await stranger.delete(path)).status).toBe(404);
    expect((await nobody().delete(path, own(cookie))).status).toBe(204);
    expect((await nobody().delete(path, own(cookie))).status).toBe(404);
    expect(await works(second.body.access_token)).toBe(401);
    // Long after a session was ended, reuse of its token does not count as theft.
    await api.db.system((db) =>
      db.query(
        "update oauth_tokens set revoked_at = revoked_at - interval '1 hour', expires_at = expires_at - interval '1 hour' where revoked_at = expires_at",
      ),
    );
    expect((await renew(second)).body.error).toBe("invalid_grant");
    expect(await works(other.body.access_token)).toBe(200);
    expect(await list(cookie)).toHaveLength(1);
  });

  it("can be ended by its user and by an admin only", async () => {
    const cookie = await sessionOf(viewer);
    const idOf = async (cookie: string): Promise<string> =>
      (await nobody().get("/v2/me", { headers: { cookie } })).body.session_id;
    const works = async (cookie: string) => (await nobody().get("/v2/me", { headers: { cookie } })).status;
    const stranger = checkedClient(api, (await createOrganisation(api)).secretKey);
    const id = await idOf(cookie);
    expect((await stranger.delete(`/v2/sessions/${id}`)).status).toBe(404);
    const admins = await sessionOf(admin);
    expect((await nobody().delete(`/v2/sessions/${await idOf(admins)}`, own(cookie))).status).toBe(404);
    expect((await nobody().delete(`/v2/sessions/${id}`, own(admins))).status).toBe(204);
    expect(await works(cookie)).toBe(401);
    const left = await idOf(admins);
    const gone = await nobody().delete("/console/session", own(admins));
    expect(gone.status).toBe(204);
    expect(gone.headers.get("set-cookie")).toContain("Max-Age=0");
    expect(await works(admins)).toBe(401);
    const query = { operation: "closeSession", target: left };
    const log = await checkedClient(api, org.secretKey).get("/v2/audit-log", { query });
    const changes = { kind: { before: "console" }, user_id: { before: admin.user_id }, provider_id: { before: null } };
    expect(log.body.data).toMatchObject([{ actor: { type: "user", id: admin.user_id }, changes }]);
  });

  it("expires after 12 hours without a request, and after 7 days", async () => {
    const ages = [
      "last_seen_at = now() - interval '12 hours 1 second'",
      "created_at = now() - interval '7 days 1 second'",
    ];
    for (const age of ages) {
      const cookie = await sessionOf(viewer);
      await api.db.system((db) => db.query(`update sessions set ${age}`));
      // A new process has not cached the session.
      const fresh = await startInProcess({ databaseUrl: api.databaseUrl });
      try {
        expect((await checkedClient(fresh).get("/v2/me", { headers: { cookie } })).status).toBe(401);
      } finally {
        await fresh.close();
      }
    }
  });

  it("ends when its user gets a new password, is disabled or is deleted", async () => {
    const mine = checkedClient(api, org.secretKey);
    for (const [index, end] of [
      (id: string) => mine.patch(`/v2/users/${id}`, { password: "another long passphrase" }),
      (id: string) => mine.patch(`/v2/users/${id}`, { disabled: true }),
      (id: string) => mine.delete(`/v2/users/${id}`),
    ].entries()) {
      const email = `ends-${index}@example.test`;
      const user = await newUser(api.db, { org_id: org.org_id, email, role: "editor" });
      const cookie = await sessionOf(user);
      const link = await createSignInLink(api.db, user);
      expect((await nobody().get("/v2/me", { headers: { cookie } })).status).toBe(200);
      expect([200, 204]).toContain((await end(user.user_id)).status);
      expect((await nobody().get("/v2/me", { headers: { cookie } })).status).toBe(401);
      expect((await signIn({ link })).status).toBe(401);
    }
  });
});

it("tells a key which organisation and role it has", async () => {
  const { body } = await checkedClient(api, org.secretKey).get("/v2/me");
  expect(body).toMatchObject({ type: "org_api_key", role: "admin", user: null, session_id: null });
  expect((await checkedClient(api, org.publicKey).get("/v2/me")).status).toBe(403);
});
