import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { cookieBrowser, startOidcServer } from "../../support/oidc-server.ts";
import type { OidcServer, Person } from "../../support/oidc-server.ts";
import { createOrganisation } from "../../support/service.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess } from "../in-process.ts";
import type { InProcessApi } from "../in-process.ts";

const PATH = "/console/session/providers";
const WRONG = "not the secret of millrace";

let first: InProcessApi;
let corp: OidcServer;
let settings: object;
let apis: InProcessApi[] = [];

beforeAll(async () => {
  [first, corp] = await Promise.all([startInProcess(), startOidcServer({ thin: false })]);
  const { org_id } = await createOrganisation(first, "Analytical Engines");
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
beforeEach(() => Object.assign(corp, { person: null, tamper: null, described: {} }));
afterAll(async () => {
  await Promise.all([first, corp, ...apis].map((each) => each?.close()));
});

/** A process with other settings, which has asked the provider nothing yet. */
async function withSettings(changes: object): Promise<InProcessApi> {
  const env = { MILLRACE_OIDC_PROVIDERS: JSON.stringify([{ ...settings, ...changes }]) };
  const api = await startInProcess({ databaseUrl: first.databaseUrl, env });
  apis = [...apis, api];
  corp.register([`http://localhost:${new URL(api.url).port}${PATH}/corp/callback`]);
  return api;
}

/** A sign-in up to its last page, and the reason in the log. */
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
  const line = lines.findLast((each) => each.includes("sign-in by an identity provider refused")) ?? "";
  const cookie = (page.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  return { status: page.status, code, line, cookie };
}

const person = { sub: "ada", email: "ada@corp.test", email_verified: true };
const maker = { ...person, groups: ["makers"] };

it.each<[string, object]>([
  ["in the header", { client_secret: WRONG }],
  ["in the body", { client_secret: WRONG, client_auth: "post" }],
])("tells the operator to look at a wrong client secret, sent %s, without it", async (_, changes) => {
  const api = await withSettings(changes);
  const { status, code, line } = await signIn(api, maker);
  expect([status, code]).toEqual([502, "provider_answer"]);
  expect(line).toContain("Look at: client_id, client_secret");
  expect(line).not.toContain("..");
  expect(api.logs()).not.toContain(WRONG);
});

it("tells the operator what a provider calls itself that is not the issuer of the settings", async () => {
  const api = await withSettings({});
  corp.described = { issuer: `${corp.issuer}/realms/corp/` };
  const { status, code, line } = await signIn(api, maker);
  expect([status, code]).toEqual([502, "provider_answer"]);
  expect(line).toContain("/realms/corp/");
  expect(line).toContain("Look at: issuer");
});

it("does not ask the person to wait where nothing is below the issuer of the settings", async () => {
  const api = await withSettings({ issuer: `${corp.issuer}/realms/corp` });
  const { status, code, line } = await signIn(api, maker);
  expect([status, code]).toEqual([502, "provider_answer"]);
  expect(line).toContain("(status 404). Look at: the provider's log; issuer");
});

it("tells the operator what the provider has said of a person who is refused, without the client's secret", async () => {
  const api = await withSettings({});
  const { status, code, line } = await signIn(api, null);
  expect([status, code]).toEqual([403, "provider_refused"]);
  expect(line).toContain("<script>declined</script>");
  expect(line).toContain("not assigned to the application");
  expect(api.logs()).not.toContain(corp.client_secret.slice(-20));
});

it.each([undefined, "javascript:alert(1)", "nothing"])(
  "ends with a page where the provider's authorisation endpoint is %s",
  async (authorization_endpoint) => {
    const api = await withSettings({});
    corp.described = { authorization_endpoint };
    const { status, code, line } = await signIn(api, maker);
    expect([status, code]).toEqual([502, "provider_answer"]);
    expect(line).toContain("authorization_endpoint is no https address");
  },
);

it("asks userinfo for groups only where they decide anything", async () => {
  const hits = () => corp.hits("/me");
  const before = hits();
  const all = { roles: {}, default_role: "viewer" };
  expect((await signIn(await withSettings(all), { ...person, sub: "bea", email: "bea@corp.test" })).status).toBe(200);
  expect(hits()).toBe(before);
  const { code, line } = await signIn(await withSettings({}), { ...person, sub: "cy", email: "cy@corp.test" });
  expect(code).toBe("no_role");
  expect(line).toContain("there is no claim groups: it sent ");
  expect(hits()).toBe(before + 1);
});

it("ends nothing of a person whose groups the provider has left out", async () => {
  const api = await withSettings({});
  const { cookie } = await signIn(api, maker);
  const { status, code, line } = await signIn(api, { ...person, hasgroups: true });
  expect([status, code]).toEqual([403, "groups_left_out"]);
  expect(line).toContain("more groups than the provider sends");
  const { body } = await checkedClient(api).get("/v2/me", { headers: { cookie } });
  expect(body.role).toBe("editor");
});
