import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cookieBrowser, startOidcServer, type OidcServer, type Person } from "../../support/oidc-server.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import type { Answer } from "../../support/client.ts";
import { checkedClient, expectDocumented } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";
import { newUser } from "./accounts.ts";

const PATH = "/console/session/providers";

let first: InProcessApi;
let api: InProcessApi;
let corp: OidcServer;
let partner: OidcServer;
let org: TestOrganisation;
let other: TestOrganisation;

beforeAll(async () => {
  [first, corp, partner] = await Promise.all([
    startInProcess(),
    startOidcServer({ thin: true }),
    startOidcServer({ thin: false }),
  ]);
  org = await createOrganisation(first, "Analytical Engines");
  other = await createOrganisation(first, "Difference Engines");
  const common = { scopes: ["openid", "email", "groups"] };
  const roles = { readers: "viewer", makers: "editor", owners: "admin" };
  const providers = [
    {
      ...common,
      ...who(corp),
      id: "corp",
      name: "Corp <Inc>",
      org_id: org.org_id,
      roles,
      email_domains: ["corp.test"],
    },
    { ...common, ...who(corp), id: "linking", name: "Linking", org_id: org.org_id, roles, link_by_email: true },
    {
      ...common,
      ...who(partner),
      id: "partner",
      name: "Partner",
      org_id: other.org_id,
      default_role: "viewer",
      trust_email: true,
      client_auth: "post",
    },
    { ...common, ...who(corp), id: "nowhere", name: "Nowhere", org_id: crypto.randomUUID(), roles },
  ];
  api = await startInProcess({
    databaseUrl: first.databaseUrl,
    env: { MILLRACE_OIDC_PROVIDERS: JSON.stringify(providers) },
  });
  const { port } = new URL(api.url);
  const callback = (id: string) => `http://localhost:${port}${PATH}/${id}/callback`;
  corp.register(["corp", "linking", "nowhere"].map(callback));
  partner.register([callback("partner")]);
});
afterAll(async () => {
  await api?.close();
  await Promise.all([first, corp, partner].map((each) => each?.close()));
});
beforeEach(() => {
  for (const server of [corp, partner]) Object.assign(server, { person: null, tamper: null, down: false });
});

const who = ({ issuer, client_id }: OidcServer) => ({ issuer, client_id, client_secret: corp.client_secret });
type TestBrowser = ReturnType<typeof cookieBrowser>;
let people = 0;
/** Creates a person at the provider who is a member of these groups. */
const person = (groups: string[], more: Partial<Person> = {}): Person => {
  people += 1;
  return { sub: `sub-${people}`, email: `p${people}@corp.test`, email_verified: true, groups, ...more };
};

/** Follows the redirects to the provider and back; returns the URL to which the provider redirects. */
async function begin(browser: TestBrowser, id = "corp", query = ""): Promise<URL> {
  return browser.follow(`${api.url}${PATH}/${id}${query}`, (url) => url.pathname.endsWith("/callback"));
}

/** Opens a page as a browser does. */
async function open(browser: TestBrowser, url: URL): Promise<Answer> {
  const response = await browser.get(url);
  const answer = { status: response.status, headers: response.headers, body: await response.text() };
  expectDocumented("GET", url.pathname, answer);
  return answer;
}

/** Signs a person in with a new browser. */
async function signIn(someone: Person | null, id = "corp", query = ""): Promise<Answer> {
  const server = id === "partner" ? partner : corp;
  server.person = someone;
  const browser = cookieBrowser();
  return open(browser, await begin(browser, id, query));
}

const codeOf = ({ body }: Answer): string | undefined => /<code>([a-z_]+)<\/code>/.exec(String(body))?.[1];
const cookieOf = (answer: Answer): string => (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
const me = (cookie: string) => checkedClient(api).get("/v2/me", { headers: { cookie } });
const secret = () => checkedClient(api, org.secretKey);

async function auditOf(operation: string): Promise<readonly Record<string, unknown>[]> {
  const { body } = await secret().get(`/v2/audit-log?operation=${operation}&page_size=100`);
  return body.data;
}

describe("signing in with an identity provider", () => {
  it("lists the providers for the sign-in page", async () => {
    const { status, body } = await checkedClient(api).get(PATH);
    expect(status).toBe(200);
    expect(body.password).toBe(true);
    expect(body.providers).toHaveLength(4);
    expect(body.providers[0]).toEqual({ provider_id: "corp", name: "Corp <Inc>", url: `${PATH}/corp` });
    expect(JSON.stringify(body)).not.toContain(corp.client_secret);
    expect((await checkedClient(first).get(PATH)).body).toEqual({ password: true, providers: [] });
  });

  it("creates the user, sets a session cookie and redirects to the requested page", async () => {
    const ada = person(["makers", "others"]);
    const answer = await signIn(ada, "corp", "?return_to=/console/runs%3Fstate=FAILED%26x=%22%3E");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("refresh")).toBe("0; url=/console/runs?state=FAILED&x=%22%3E");
    expect(answer.headers.get("content-security-policy")).toMatch(/^default-src 'none'/);
    expect(answer.headers.get("set-cookie")).toMatch(
      /^millrace_session=mr_ss_\w+; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(answer.body).not.toContain("mr_ss_");
    const { body } = await me(cookieOf(answer));
    expect(body).toMatchObject({
      type: "user",
      role: "editor",
      user: { email: ada.email },
      organisation: { org_id: org.org_id },
    });
    const sessions = await secret().get(`/v2/sessions?user_id=${body.id}`);
    expect(sessions.body.data).toMatchObject([{ session_id: body.session_id, provider_id: "corp" }]);
    const audit = (await auditOf("finishProviderSignIn")).filter(
      ({ target }) => (target as { id?: string } | null)?.id === body.id,
    );
    expect(audit).toMatchObject([
      { actor: { type: "user", id: body.id, session_id: body.session_id }, changes: { provider: { after: "corp" } } },
      { actor: { type: "system", id: null }, changes: { email: { after: ada.email }, role: { after: "editor" } } },
    ]);
  });

  it("recognises the person by the provider's ID, even after a change of address", async () => {
    const ada = person(["readers"]);
    const before = (await me(cookieOf(await signIn(ada)))).body;
    const after = (await me(cookieOf(await signIn({ ...ada, email: "renamed@corp.test" })))).body;
    expect(after).toMatchObject({ id: before.id, user: { email: ada.email } });
  });

  it("sets the highest role of the groups at each sign-in; a user who loses admin loses the created keys", async () => {
    const ada = person(["readers", "owners"]);
    const cookie = cookieOf(await signIn(ada));
    const own = { headers: { cookie, "sec-fetch-site": "same-origin" } };
    expect((await me(cookie)).body.role).toBe("admin");
    const made = await checkedClient(api).post("/v2/api-keys", { name: "hers", kind: "secret" }, own);
    expect(made.status).toBe(201);
    const again = await signIn({ ...ada, groups: ["readers"] });
    expect((await me(cookieOf(again))).body.role).toBe("viewer");
    expect((await me(cookie)).body.role).toBe("viewer");
    expect((await checkedClient(api, made.body.key).get("/v2/me")).status).toBe(401);
    const refused = await checkedClient(api).post("/v2/api-keys", { name: "more", kind: "secret" }, own);
    expect(refused.status).toBe(403);
    const [, change] = await auditOf("finishProviderSignIn");
    expect(change).toMatchObject({
      actor: { type: "system" },
      changes: { role: { before: "admin", after: "viewer" } },
    });
  });

  it("rejects a person in none of the groups, and ends the sessions of a user who left them", async () => {
    const ada = person(["makers"]);
    const cookie = cookieOf(await signIn(ada));
    const { id } = (await me(cookie)).body;
    const answer = await signIn({ ...ada, groups: ["others"] });
    expect([answer.status, codeOf(answer)]).toEqual([403, "no_role"]);
    expect(answer.headers.get("set-cookie")).toBeNull();
    expect((await me(cookie)).status).toBe(401);
    const [entry] = await auditOf("finishProviderSignIn");
    expect(entry).toMatchObject({
      actor: { type: "user", id: null },
      target: { type: "user", id },
      outcome: "failure",
      changes: { reason: { after: "no_role" } },
    });
    expect((await signIn(ada)).status).toBe(200);
  });

  it.each<[string, Partial<Person>]>([
    ["no_role", { groups: [] }],
    ["no_role", { groups: ["__proto__", "constructor"] }],
    ["email_unverified", { email_verified: false }],
    ["email_missing", { email: "not an address" }],
    ["email_domain", { email: "ada@corp.test.example" }],
  ])("rejects a new person with %s: %j, and creates no user", async (code, claims) => {
    const answer = await signIn(person(["makers"], claims));
    expect([answer.status, codeOf(answer)]).toEqual([403, code]);
    const { body } = await secret().get("/v2/users?page_size=1");
    expect(body.data[0]?.email).not.toBe(claims.email);
  });

  it("does not sign in as a user with the same address unless the settings link verified addresses", async () => {
    const email = "owner@corp.test";
    const owner = await newUser(api.db, { org_id: org.org_id, email, role: "admin" });
    const thief = person(["owners"], { email: "Owner@corp.test", email_verified: false });
    expect(codeOf(await signIn(thief))).toBe("email_unverified");
    expect(codeOf(await signIn(thief, "linking"))).toBe("email_unverified");
    const verified = { ...thief, email_verified: true };
    expect(codeOf(await signIn(verified))).toBe("email_taken");
    const linked = await me(cookieOf(await signIn(verified, "linking")));
    expect(linked.body).toMatchObject({ id: owner.user_id, role: "admin" });
    // Another person who has since received the same e-mail address.
    const next = person(["owners"], { email });
    expect(codeOf(await signIn(next, "linking"))).toBe("email_taken");
  });

  it("rejects a disabled user", async () => {
    const ada = person(["readers"]);
    const { id } = (await me(cookieOf(await signIn(ada)))).body;
    await secret().patch(`/v2/users/${id}`, { disabled: true });
    const answer = await signIn(ada);
    expect([answer.status, codeOf(answer)]).toEqual([403, "locked_out"]);
  });

  it("keeps two providers apart: organisations, roles, people with the same ID", async () => {
    const ada = person(["owners"]);
    const here = await me(cookieOf(await signIn(ada)));
    // This provider is configured differently: claims in the ID token, the secret in the body, no `email_verified`.
    const there = await me(cookieOf(await signIn({ sub: ada.sub, email: "ada@partner.test" }, "partner")));
    expect(here.body).toMatchObject({ role: "admin", organisation: { org_id: org.org_id } });
    expect(there.body).toMatchObject({ role: "viewer", organisation: { org_id: other.org_id } });
    expect(there.body.id).not.toBe(here.body.id);
  });

  it("reports a missing organisation with not_set_up", async () => {
    const answer = await signIn(person(["makers"]), "nowhere");
    expect([answer.status, codeOf(answer)]).toEqual([503, "not_set_up"]);
  });

  it("sets no password: a user of a provider cannot sign in with one", async () => {
    const ada = person(["readers"]);
    await signIn(ada);
    for (const password of ["none", ""]) {
      const body = { email: ada.email, password };
      expect((await checkedClient(api).post("/console/session", body)).status).toBe(password === "" ? 422 : 401);
    }
  });
});

describe("a sign-in started in one browser", () => {
  it("is rejected in another browser, and still works in its own", async () => {
    corp.person = person(["makers"]);
    const [mine, theirs] = [cookieBrowser(), cookieBrowser()];
    const callback = await begin(mine);
    for (const stranger of [cookieBrowser(), theirs]) {
      if (stranger === theirs) await begin(theirs);
      const answer = await open(stranger, callback);
      expect([answer.status, codeOf(answer)]).toEqual([400, "sign_in_unknown"]);
      expect(answer.headers.get("set-cookie")).toBeNull();
    }
    expect((await open(mine, callback)).status).toBe(200);
  });

  it("is rejected the second time", async () => {
    corp.person = person(["makers"]);
    const browser = cookieBrowser();
    const callback = await begin(browser);
    expect((await open(browser, callback)).status).toBe(200);
    expect(codeOf(await open(browser, callback))).toBe("sign_in_unknown");
  });

  it("is rejected with another state or code, at another provider's URL, or after ten minutes", async () => {
    corp.person = person(["makers"]);
    const browser = cookieBrowser();
    const [own, another, third, late] = [
      await begin(browser),
      await begin(browser),
      await begin(browser),
      await begin(browser),
    ];
    const forged = new URL(own);
    forged.searchParams.set("state", "forged");
    expect(codeOf(await open(browser, forged))).toBe("sign_in_unknown");
    // Combines the code of one sign-in with the state of another; the provider detects it by PKCE.
    const mixed = new URL(own);
    mixed.searchParams.set("code", another.searchParams.get("code") ?? "");
    expect(codeOf(await open(browser, mixed))).toBe("provider_answer");
    const elsewhere = new URL(third.href.replace("/corp/", "/linking/"));
    expect(codeOf(await open(browser, elsewhere))).toBe("sign_in_unknown");
    await api.db.system((db) => db.query("update provider_sign_ins set expires_at = now() - interval '1 second'"));
    expect(codeOf(await open(browser, late))).toBe("sign_in_unknown");
  });

  it("can run in two tabs of the browser", async () => {
    corp.person = person(["makers"]);
    const browser = cookieBrowser();
    const [one, two] = [await begin(browser), await begin(browser)];
    expect((await open(browser, one)).status).toBe(200);
    expect((await open(browser, two)).status).toBe(200);
  });

  it("stores no plaintext secret, except one that only the provider can use", async () => {
    corp.person = person(["makers"]);
    const browser = cookieBrowser();
    const callback = await begin(browser);
    const rows = JSON.stringify(await api.db.system((db) => db.query("select p::text from provider_sign_ins p")));
    const [, cookie = "absent"] = [...browser.cookies(new URL(api.url))][0] ?? [];
    for (const value of [cookie, callback.searchParams.get("state") ?? "absent"]) expect(rows).not.toContain(value);
  });
});

describe("a provider that fails", () => {
  it("does not stop the API from starting, and is called again at the next sign-in", async () => {
    const provider = await startOidcServer({ thin: true });
    const settings = [{ id: "late", name: "Late", ...who(provider), org_id: org.org_id, default_role: "viewer" }];
    const second = await startInProcess({
      databaseUrl: first.databaseUrl,
      env: { MILLRACE_OIDC_PROVIDERS: JSON.stringify(settings) },
    });
    try {
      const start = new URL(`${second.url}${PATH}/late`);
      const down = await open(cookieBrowser(), start);
      expect([down.status, codeOf(down)]).toEqual([502, "provider_unavailable"]);
      provider.register([`http://localhost:${start.port}${PATH}/late/callback`]);
      const up = await open(cookieBrowser(), start);
      expect(up.status).toBe(302);
      await open(cookieBrowser(), start);
      // The first request failed, the second one got the metadata, which is then cached.
      expect(provider.hits("/.well-known/openid-configuration")).toBe(2);
    } finally {
      await Promise.all([second.close(), provider.close()]);
    }
  });

  it("shows an error page if it is down when the person returns", async () => {
    corp.person = person(["makers"]);
    const browser = cookieBrowser();
    const callback = await begin(browser);
    corp.down = true;
    const answer = await open(browser, callback);
    expect([answer.status, codeOf(answer)]).toEqual([502, "provider_unavailable"]);
  });

  it("shows an error page if the person declines, without the provider's words", async () => {
    const answer = await signIn(null);
    expect([answer.status, codeOf(answer)]).toEqual([403, "provider_refused"]);
    expect(answer.body).not.toContain("declined");
    expect(api.logs()).toContain("provider_refused");
  });

  it.each<[string, (token: string) => string]>([
    ["without a signature", (token) => `${encode({ alg: "none" })}.${token.split(".")[1]}.`],
    ["with a broken signature", (token) => `${token.slice(0, -8)}${token.endsWith("A") ? "BBBBBBBB" : "AAAAAAAA"}`],
    [
      "of somebody else",
      (token) => {
        const [head, body = "", signature] = token.split(".");
        const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as object;
        return [head, encode({ ...claims, sub: "sub-1" }), signature].join(".");
      },
    ],
  ])("cannot sign a person in with an ID token %s", async (_, tamper) => {
    corp.tamper = tamper;
    const answer = await signIn(person(["makers"]));
    expect([answer.status, codeOf(answer)]).toEqual([502, "provider_answer"]);
    expect(answer.headers.get("set-cookie")).toBeNull();
  });
});

describe("the URL that starts a sign-in", () => {
  it.each([
    "https://evil.test/console",
    "//evil.test/console",
    "/\\evil.test",
    "/console/../v2/me",
    "/consoles",
    "/console/session/providers/corp",
    "/console/\tx",
    "console",
  ])("accepts only a return path of the console: %j is rejected", async (to) => {
    const answer = await open(
      cookieBrowser(),
      new URL(`${api.url}${PATH}/corp?${new URLSearchParams({ return_to: to }).toString()}`),
    );
    expect([answer.status, codeOf(answer)]).toEqual([400, "return_path"]);
  });

  it("returns an error page for an unknown provider, at the start and at the callback", async () => {
    for (const path of [`${PATH}/none`, `${PATH}/none/callback`, `${PATH}/__proto__`]) {
      const answer = await open(cookieBrowser(), new URL(`${api.url}${path}`));
      expect([answer.status, codeOf(answer)]).toEqual([404, "provider_unknown"]);
    }
  });

  it("is rate-limited by network", async () => {
    const limited = () =>
      api.db.system((db) =>
        db.query("update rate_limits set points = 1000 where key like 'provider-sign-in:%' returning key"),
      );
    corp.person = person(["makers"]);
    await begin(cookieBrowser());
    expect(await limited()).toHaveLength(1);
    const answer = await open(cookieBrowser(), new URL(`${api.url}${PATH}/corp`));
    expect([answer.status, codeOf(answer), answer.headers.get("retry-after")]).toEqual([429, "rate_limited", "60"]);
    await api.db.system((db) => db.query("delete from rate_limits"));
  });
});

describe("an installation without passwords", () => {
  it("rejects passwords in the console and at /token, and accepts links and providers", async () => {
    const settings = [{ id: "corp", name: "Corp", ...who(corp), org_id: org.org_id, default_role: "viewer" }];
    const closed = await startInProcess({
      databaseUrl: first.databaseUrl,
      env: { MILLRACE_OIDC_PROVIDERS: JSON.stringify(settings), MILLRACE_PASSWORD_SIGN_IN: "false" },
    });
    try {
      const user = await newUser(closed.db, { org_id: org.org_id, email: "pw@corp.test", role: "viewer" });
      const nobody = checkedClient(closed);
      expect((await nobody.get(PATH)).body).toMatchObject({ password: false, providers: [{ provider_id: "corp" }] });
      const { email, password } = user;
      const bySession = await nobody.post("/console/session", { email, password });
      expect([bySession.status, bySession.body.code]).toEqual([403, "forbidden"]);
      const form = new URLSearchParams({ grant_type: "password", username: email, password });
      const byToken = await nobody.post("/token", form);
      expect([byToken.status, byToken.body.error]).toEqual([400, "unsupported_grant_type"]);
    } finally {
      await closed.close();
    }
  });
});

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
