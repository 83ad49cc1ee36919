import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { createSecretBox } from "../../../src/platform/secrets/seal.ts";
import { createSignInLink } from "../../../src/services/accounts/sessions.ts";
import { resealSecrets } from "../../../src/services/secrets/reseal.ts";
import { purgeSessions } from "../../../src/stores/accounts/sessions.ts";
import { cookieBrowser, startOidcServer, type OidcServer } from "../../support/oidc-server.ts";
import { MASTER_KEY } from "../../support/payloads.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import type { Answer } from "../../support/client.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";
import { newUser } from "./accounts.ts";

const PATH = "/console/session/providers";

let first: InProcessApi;
let api: InProcessApi;
let corp: OidcServer;
let org: TestOrganisation;
let console_: string;

beforeAll(async () => {
  [first, corp] = await Promise.all([startInProcess(), startOidcServer({ thin: false })]);
  org = await createOrganisation(first, "Analytical Engines");
  api = await another();
  const { port } = new URL(api.url);
  console_ = `http://localhost:${port}/console/`;
  corp.register(
    ["ends", "stays"].map((id) => `http://localhost:${port}${PATH}/${id}/callback`),
    [console_],
  );
});
afterAll(async () => {
  await api?.close();
  await Promise.all([first, corp].map((each) => each?.close()));
});
beforeEach(() => {
  corp.person = { sub: "ada", email: "ada@corp.test", email_verified: true };
  Object.assign(corp, { down: false, silent: false, described: {} });
});

/** An API that has not contacted the provider yet and has it configured twice. */
async function another(env: Record<string, string> = {}, at = corp): Promise<InProcessApi> {
  const { issuer, client_id, client_secret } = at;
  const client = { issuer, client_id, client_secret, org_id: org.org_id, scopes: ["openid", "email", "groups"] };
  const providers = [
    { ...client, id: "ends", name: "Ends", default_role: "viewer", end_provider_session: true },
    { ...client, id: "stays", name: "Stays", default_role: "viewer" },
  ];
  const { databaseUrl } = first;
  return startInProcess({ databaseUrl, env: { MILLRACE_OIDC_PROVIDERS: JSON.stringify(providers), ...env } });
}

/** Runs `work` with such an API; returns its result. */
async function withAnother<T>(
  work: (process: InProcessApi) => Promise<T>,
  env?: Record<string, string>,
  at?: OidcServer,
): Promise<T> {
  const started = await another(env, at);
  try {
    return await work(started);
  } finally {
    await started.close();
  }
}

async function signIn(id: string, browser = cookieBrowser()): Promise<string> {
  const back = await browser.follow(`${api.url}${PATH}/${id}`, (url) => url.pathname.endsWith("/callback"));
  const answer = await browser.get(back);
  expect(answer.status).toBe(200);
  return (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
}

const own = (cookie: string, more = {}) => ({ headers: { cookie, "sec-fetch-site": "same-origin", ...more } });
const signOut = (cookie: string, at = api): Promise<Answer> =>
  checkedClient(at).delete("/console/session", own(cookie));
const me = (cookie: string): Promise<Answer> => checkedClient(api).get("/v2/me", own(cookie));
const admin = () => checkedClient(api, org.secretKey);

/** The session has ended, and the browser is not redirected. */
async function expectAtHome(left: Answer, cookie: string): Promise<void> {
  expect([left.status, left.body]).toEqual([204, ""]);
  expect(left.headers.get("set-cookie")).toContain("Max-Age=0");
  expect((await me(cookie)).status).toBe(401);
}

const sentIn = ({ status, body }: Answer): Record<string, string> => {
  expect(status).toBe(200);
  return Object.fromEntries(new URL(body.provider_sign_out_url).searchParams);
};
const claimsOf = (idToken = ""): Record<string, unknown> =>
  JSON.parse(Buffer.from(idToken.split(".")[1] ?? "", "base64url").toString());

async function keptOf(cookie: string): Promise<{ readonly id: string; read(): Promise<Buffer | null | undefined> }> {
  const { session_id: id } = (await me(cookie)).body;
  const sql = "select id_token from sessions where session_id = $1::uuid";
  const read = () => api.db.system(async (db) => (await db.query<{ id_token: Buffer | null }>(sql, [id]))[0]?.id_token);
  return { id, read };
}

it("redirects to the provider, which ends its session and redirects back to the console", async () => {
  const browser = cookieBrowser();
  await signIn("ends", browser);
  const { asked } = corp;
  const cookie = await signIn("ends", browser);
  // The provider still has its own session, so it does not ask for a password.
  expect(corp.asked).toBe(asked);
  const left = await signOut(cookie);
  expect(left.headers.get("set-cookie")).toContain("Max-Age=0");
  expect(left.headers.get("cache-control")).toBe("no-store");
  expect((await me(cookie)).status).toBe(401);
  const { id_token_hint: hint, ...sent } = sentIn(left);
  expect(sent).toEqual({ client_id: corp.client_id, post_logout_redirect_uri: console_ });
  expect(claimsOf(hint)).toMatchObject({ iss: corp.issuer, aud: corp.client_id, sub: "ada" });
  const there = new URL(left.body.provider_sign_out_url);
  expect(there.origin).toBe(corp.issuer);
  const page = await (await browser.get(there)).text();
  const [, action = ""] = /action="([^"]+)"/.exec(page) ?? [];
  const [, xsrf = ""] = /name="xsrf" value="([^"]+)"/.exec(page) ?? [];
  const body = new URLSearchParams({ xsrf, logout: "yes" });
  const confirmed = await browser.send(new URL(action, there), { method: "POST", body });
  expect(confirmed.headers.get("location")).toBe(console_);
  await signIn("ends", browser);
  expect(corp.asked).toBe(asked + 1);
});

it("takes no redirect URL from the request", async () => {
  const elsewhere = "https://elsewhere.test/";
  const headers = {
    host: "elsewhere.test",
    origin: "https://elsewhere.test",
    referer: elsewhere,
    "x-forwarded-host": "elsewhere.test",
    "x-forwarded-proto": "https",
    forwarded: "host=elsewhere.test;proto=https",
  };
  const left = await checkedClient(api).delete("/console/session", own(await signIn("ends"), headers));
  expect(sentIn(left)["post_logout_redirect_uri"]).toBe(console_);
  expect(new URL(left.body.provider_sign_out_url).origin).toBe(corp.issuer);
  for (const name of ["post_logout_redirect_uri", "return_to", "id_token_hint"]) {
    const asked = { ...own(await signIn("ends")), query: { [name]: elsewhere } };
    expect((await checkedClient(api).delete("/console/session", asked)).status).toBe(422);
  }
});

it("does not redirect if the setting is off, or after a sign-in with a link or a password", async () => {
  const { asked } = corp;
  const browser = cookieBrowser();
  const stayed = await signIn("stays", browser);
  const user = await newUser(api.db, { org_id: org.org_id, email: "pw@corp.test", role: "viewer" });
  const { email, password } = user;
  const ways = [{ link: await createSignInLink(api.db, user) }, { email, password }];
  const opened = await Promise.all(ways.map((body) => checkedClient(api).post("/console/session", body)));
  const cookies = opened.map(({ headers }) => (headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "");
  for (const cookie of [stayed, ...cookies]) await expectAtHome(await signOut(cookie), cookie);
  await signIn("stays", browser);
  expect(corp.asked).toBe(asked + 1);
});

it.each<[string, Partial<OidcServer>]>([
  ["does not work", { down: true }],
  ["does not answer", { silent: true }],
  ["has no end_session_endpoint", { described: { end_session_endpoint: undefined } }],
  ["names a script", { described: { end_session_endpoint: "javascript:alert(1)" } }],
  ["names a file", { described: { end_session_endpoint: "file:///etc/passwd" } }],
])("ends the local session without a redirect if the provider %s", async (_, fault) => {
  const cookie = await signIn("ends");
  await withAnother(async (process) => {
    Object.assign(corp, fault);
    const since = performance.now();
    const left = await signOut(cookie, process);
    // At sign-in a provider has ten seconds; sign-out must wait less.
    expect(performance.now() - since).toBeLessThan(5000);
    await expectAtHome(left, cookie);
    const isSaid = process.logs().includes("signed out locally; the identity provider session is still active");
    expect(isSaid).toBe(fault.described === undefined || fault.described["end_session_endpoint"] !== undefined);
  });
});

it("redirects without calling a provider whose endpoints are already known", async () => {
  const cookie = await signIn("ends");
  corp.silent = true;
  const hits = corp.hits("/.well-known/openid-configuration");
  expect(sentIn(await signOut(cookie))["client_id"]).toBe(corp.client_id);
  expect(corp.hits("/.well-known/openid-configuration")).toBe(hits);
});

it("stores the ID token encrypted, as long as the session lasts, and only if sign-out needs it", async () => {
  const stayed = await keptOf(await signIn("stays"));
  expect(await stayed.read()).toBeNull();
  const cookie = await signIn("ends");
  const kept = await keptOf(cookie);
  const sealed = await kept.read();
  expect(String(sealed)).not.toContain("eyJ");
  const { id_token_hint: hint = "" } = sentIn(await signOut(cookie));
  expect(hint).toMatch(/^eyJ/);
  expect(sealed?.includes(hint)).toBe(false);
  expect(await kept.read()).toBeNull();
  const [, signature = ""] = /\.([^.]+)$/.exec(hint) ?? [];
  const shown = await Promise.all(
    ["/v2/audit-log?page_size=100", "/v2/sessions", "/v2/audit-log/export"].map((path) => admin().get(path)),
  );
  expect(JSON.stringify(shown[0]?.body)).toContain("closeSession");
  for (const text of [...shown.map(({ body }) => JSON.stringify(body)), api.logs()]) {
    expect(text).not.toContain(signature);
    expect(text).not.toContain("id_token");
  }
});

it("deletes the ID token when an admin ends the session or disables the user", async () => {
  const ended = await keptOf(await signIn("ends"));
  const cookie = await signIn("ends");
  const locked = await keptOf(cookie);
  expect((await admin().delete(`/v2/sessions/${ended.id}`)).status).toBe(204);
  expect(await ended.read()).toBeNull();
  expect(await locked.read()).toBeInstanceOf(Buffer);
  const { user_id } = (await me(cookie)).body.user;
  expect((await admin().patch(`/v2/users/${user_id}`, { disabled: true })).status).toBe(200);
  expect(await locked.read()).toBeNull();
  expect((await admin().patch(`/v2/users/${user_id}`, { disabled: false })).status).toBe(200);
});

it("deletes the ID token of a session that was not used for two days", async () => {
  const [idle, used] = [await keptOf(await signIn("ends")), await keptOf(await signIn("ends"))];
  const age = "update sessions set last_seen_at = now() - interval '2 days 1 second' where session_id = $1::uuid";
  await api.db.system((db) => db.query(age, [idle.id]));
  await api.db.system((db) => purgeSessions(db, 1000));
  expect(await idle.read()).toBeUndefined();
  expect(await used.read()).toBeInstanceOf(Buffer);
});

it("re-encrypts ID tokens with a new master key, and signs out without a token it cannot decrypt", async () => {
  const [old, fresh] = [Buffer.from(MASTER_KEY, "base64"), randomBytes(32)];
  const [cookie, unread] = [await signIn("ends"), await signIn("ends")];
  const env = { MILLRACE_MASTER_KEY: fresh.toString("base64") };
  await withAnother(async (process) => {
    expect(Object.keys(sentIn(await signOut(unread, process))).sort()).toEqual([
      "client_id",
      "post_logout_redirect_uri",
    ]);
    const report = await resealSecrets(api.db, createSecretBox([fresh, old]));
    expect(report.unreadable).toEqual([]);
    expect(claimsOf(sentIn(await signOut(cookie, process))["id_token_hint"])["sub"]).toBe("ada");
  }, env);
  await resealSecrets(api.db, createSecretBox([old, fresh]));
});

it("sends no ID token to the provider after its issuer has changed", async () => {
  const moved = await startOidcServer({ thin: false });
  onTestFinished(() => moved.close());
  moved.register([], [console_]);
  const cookie = await signIn("ends");
  await withAnother(
    async (process) => {
      const left = await signOut(cookie, process);
      expect(new URL(left.body.provider_sign_out_url).origin).toBe(moved.issuer);
      expect(Object.keys(sentIn(left)).sort()).toEqual(["client_id", "post_logout_redirect_uri"]);
    },
    {},
    moved,
  );
});

it("does not store an ID token that is too long for a URL", async () => {
  const groups = Array.from({ length: 300 }, (_, at) => `a group with a long name ${at}`);
  corp.person = { sub: "ada", email: "ada@corp.test", email_verified: true, groups };
  const sent = sentIn(await signOut(await signIn("ends")));
  expect(sent).toEqual({ client_id: corp.client_id, post_logout_redirect_uri: console_ });
});
