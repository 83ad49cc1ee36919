import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { cookieBrowser, startOidcServer, type OidcServer, type Person } from "../../support/oidc-server.ts";
import { createOrganisation } from "../../support/service.ts";
import { checkedClient } from "../http/conformance.ts";
import { newUser } from "./accounts.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

const PATH = "/console/session/providers";
const WRONG = "not the secret of millrace";

let first: InProcessApi;
let corp: OidcServer;
let settings: object;
let orgId: string;
let apis: InProcessApi[] = [];

beforeAll(async () => {
  [first, corp] = await Promise.all([startInProcess(), startOidcServer({ thin: false })]);
  const { org_id } = await createOrganisation(first, "Analytical Engines");
  orgId = org_id;
  const { issuer, client_id, client_secret } = corp;
  const scopes = ["openid", "email", "groups"];
  settings = {
    issuer,
    client_id,
    client_secret,
    org_id,
    scopes,
    id: "corp",
    name: "Corp",
    roles: { makers: "editor" },
  };
});
beforeEach(() => Object.assign(corp, { person: null, tamper: null, claims: {}, described: {} }));
afterAll(async () => {
  await Promise.all([first, corp, ...apis].map((each) => each?.close()));
});

/** An API with other settings that has not contacted the provider yet. */
async function withSettings(changes: object): Promise<InProcessApi> {
  const env = { MILLRACE_OIDC_PROVIDERS: JSON.stringify([{ ...settings, ...changes }]) };
  const api = await startInProcess({ databaseUrl: first.databaseUrl, env });
  apis = [...apis, api];
  corp.register([`http://localhost:${new URL(api.url).port}${PATH}/corp/callback`]);
  return api;
}

/** Signs in up to the last page; returns it with the reason from the log. */
async function signIn(api: InProcessApi, person: Person | null) {
  corp.person = person;
  const browser = cookieBrowser();
  const start = new URL(`${api.url}${PATH}/corp`);
  const started = await browser.get(start);
  const to = started.headers.get("location");
  const page =
    to === null
      ? started
      : await browser.get(await browser.follow(to, ({ pathname }) => pathname.endsWith("/callback")));
  const code = /<code>([a-z_]+)<\/code>/.exec(await page.text())?.[1];
  const lines = api.logs().split("\n");
  const line = lines.findLast((each) => each.includes("sign-in by an identity provider rejected")) ?? "";
  const cookie = (page.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  return { status: page.status, code, line, cookie };
}

const page = async (response: Response) => {
  const code = /<code>([a-z_]+)<\/code>/.exec(await response.text())?.[1];
  return [response.status, response.headers.get("content-type"), code];
};
const person = { sub: "ada", email: "ada@corp.test", email_verified: true };
const maker = { ...person, groups: ["makers"] };

it.each<[string, object]>([
  ["in the header", { client_secret: WRONG }],
  ["in the body", { client_secret: WRONG, client_auth: "post" }],
])("tells the operator to check the client secret if it is wrong, sent %s, and does not log it", async (_, changes) => {
  const api = await withSettings(changes);
  const { status, code, line } = await signIn(api, maker);
  expect([status, code]).toEqual([502, "provider_answer"]);
  expect(line).toContain("Check: client_id, client_secret");
  expect(line).not.toContain("..");
  expect(api.logs()).not.toContain(WRONG);
});

it("tells the operator the provider's issuer if it differs from the configured one", async () => {
  const api = await withSettings({});
  corp.described = { issuer: `${corp.issuer}/realms/corp/` };
  const { status, code, line } = await signIn(api, maker);
  expect([status, code]).toEqual([502, "provider_answer"]);
  expect(line).toContain("/realms/corp/");
  expect(line).toContain("Check: issuer");
});

it("does not tell the person to wait if the configured issuer URL returns 404", async () => {
  const api = await withSettings({ issuer: `${corp.issuer}/realms/corp` });
  const { status, code, line } = await signIn(api, maker);
  expect([status, code]).toEqual([502, "provider_answer"]);
  expect(line).toContain("(status 404). Check: the provider's log, and issuer");
});

it("logs why the provider refused a person, without the client secret", async () => {
  const api = await withSettings({});
  const { status, code, line } = await signIn(api, null);
  expect([status, code]).toEqual([403, "provider_refused"]);
  expect(line).toContain("<script>declined</script>");
  expect(line).toContain("not assigned to the application");
  expect(api.logs()).not.toContain(corp.client_secret.slice(-20));
});

it.each([undefined, "javascript:alert(1)", "nothing"])(
  "shows an error page if the provider's authorisation endpoint is %s",
  async (authorization_endpoint) => {
    const api = await withSettings({});
    corp.described = { authorization_endpoint };
    const { status, code, line } = await signIn(api, maker);
    expect([status, code]).toEqual([502, "provider_answer"]);
    expect(line).toContain("authorization_endpoint is not an https URL");
  },
);

it("requests userinfo for groups only if groups decide the role", async () => {
  const hits = () => corp.hits("/me");
  const before = hits();
  const all = { roles: {}, default_role: "viewer" };
  expect((await signIn(await withSettings(all), { ...person, sub: "bea", email: "bea@corp.test" })).status).toBe(200);
  expect(hits()).toBe(before);
  const { code, line } = await signIn(await withSettings({}), { ...person, sub: "cy", email: "cy@corp.test" });
  expect(code).toBe("no_role");
  expect(line).toContain("the claim groups is missing: the provider sent ");
  expect(hits()).toBe(before + 1);
});

it("keeps the sessions of a person if the provider omits the groups", async () => {
  const api = await withSettings({});
  const { cookie } = await signIn(api, maker);
  const { status, code, line } = await signIn(api, { ...person, hasgroups: true });
  expect([status, code]).toEqual([403, "groups_left_out"]);
  expect(line).toContain("more groups than the provider sends");
  const { body } = await checkedClient(api).get("/v2/me", { headers: { cookie } });
  expect(body.role).toBe("editor");
});

it.each<[string, Readonly<Record<string, unknown>>, string]>([
  ["issued far ahead", { iat: Math.round(Date.now() / 1000) + 3600 }, "Check: the clocks of the provider"],
  ["for another client", { azp: "another" }, "Check: issuer and client_id"],
])("rejects an ID token %s", async (_, claims, advice) => {
  const api = await withSettings({});
  corp.claims = claims;
  const { status, code, line } = await signIn(api, maker);
  expect([status, code]).toEqual([502, "provider_answer"]);
  expect(line).toContain(advice);
  corp.claims = { azp: corp.client_id, iat: Math.round(Date.now() / 1000) + 60 };
  expect((await signIn(api, maker)).status).toBe(200);
});

it("unverified-address: an unverified address is linked to no user, whatever the settings trust", async () => {
  const email = "owner@corp.test";
  await newUser(first.db, { org_id: orgId, email, role: "admin" });
  const api = await withSettings({ trust_email: true, link_by_email: true });
  const thief = { sub: "thief", email, groups: ["makers"] };
  expect((await signIn(api, { ...thief, email_verified: false })).code).toBe("email_unverified");
  const absent = await signIn(api, thief);
  expect(absent.code).toBe("email_taken");
  expect(absent.line).toContain("link_by_email requires it to be true");
  expect((await signIn(api, { ...thief, email_verified: true })).status).toBe(200);
});

it("completes only at the exact callback URL, and shows an error page for any other", async () => {
  const api = await withSettings({});
  corp.person = maker;
  const browser = cookieBrowser();
  const start = new URL(`${api.url}${PATH}/corp`);
  const { href } = await browser.follow(start.href, ({ pathname }) => pathname.endsWith("/callback"));
  const { state, code } = Object.fromEntries(new URL(href).searchParams);
  const callback = `${api.url}${PATH}/corp/callback`;
  const wrong = [
    ...["", `?state=${state}`, `?state=${state}&code=`, `?code=${code}`].map((query) => callback + query),
    ...[`state=${state}`, "state=", `code=${code}`, "error=x&error=x", "iss=", "error=%00"].map(
      (more) => `${href}&${more}`,
    ),
    `${start.href}?return_to=/console/&return_to=/console/`,
    `${start.href}?return_to=/console/${"x".repeat(1000)}`,
    `${start.href}?other=1`,
    `${api.url}${PATH}/${"x".repeat(300)}/callback`,
  ];
  const invalid = [400, "text/html; charset=utf-8", "address_invalid"];
  for (const address of wrong) expect(await page(await browser.get(new URL(address))), address).toEqual(invalid);
  const head = await browser.send(new URL(href), { method: "HEAD" });
  expect([head.status, head.headers.get("set-cookie")]).toEqual([400, null]);
  expect(api.logs()).toContain("query.state: The parameter was sent more than once");
  expect((await browser.get(new URL(href))).status).toBe(200);
});
