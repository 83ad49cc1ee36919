import { expect, it } from "vitest";
import { admit, identityProviders, mergeClaims } from "../../src/domain/accounts/identity-providers.ts";

const settings = {
  id: "corp",
  name: "Corp",
  issuer: "https://id.example.com",
  client_id: "millrace",
  org_id: "0197f0a0-0000-7000-8000-000000000000",
  roles: { makers: "editor", "/corp/makers": "editor" },
};
const person = { sub: "ada", email: "ada@corp.test", email_verified: true };

function admitted(changes: object, claims: object) {
  const [provider] = identityProviders.parse([{ ...settings, ...changes }]);
  return admit(provider as NonNullable<typeof provider>, { ...person, ...claims });
}

it.each<[string, string, object]>([
  ["Keycloak's realm roles", "realm_access.roles", { realm_access: { roles: ["offline_access", "makers"] } }],
  ["Keycloak's full group paths", "groups", { groups: ["/corp/makers"] }],
  ["Auth0", "https://example.com/roles", { "https://example.com/roles": ["makers"] }],
  ["GitLab", "groups_direct", { groups_direct: ["makers"] }],
  ["Amazon Cognito", "cognito:groups", { "cognito:groups": ["makers"], email_verified: "true" }],
  ["ADFS, of one group", "groups", { groups: "makers" }],
  ["Zitadel", "urn:zitadel:iam:org:project:roles", { "urn:zitadel:iam:org:project:roles": { makers: { 1: "corp" } } }],
  ["Entra ID, with the claim beside the word", "groups", { groups: ["makers"], hasgroups: true }],
])("reads the groups of %s", (_, groups_claim, claims) => {
  expect(admitted({ groups_claim }, claims)).toEqual({ email: person.email, role: "editor", verified: true });
});

it.each<[object]>([
  [{ _claim_names: { groups: "src1" }, _claim_sources: { src1: { endpoint: "https://graph.example.com" } } }],
  [{ hasgroups: true }],
  [{ hasgroups: "true" }],
])("refuses a user whose groups the provider omits, even with a default role: %j", (claims) => {
  const refused = { refused: "groups_left_out", reason: expect.stringContaining("more groups than") };
  expect(admitted({ default_role: "viewer" }, claims)).toEqual(refused);
  expect(admitted({ default_role: "viewer", roles: {} }, claims)).toMatchObject({ role: "viewer" });
  expect(admitted({ default_role: "viewer", groups_claim: "roles" }, claims)).toMatchObject({ role: "viewer" });
});

it.each<[string, object, object, RegExp]>([
  ["no_role", {}, {}, /^the claim groups is missing: the provider sent sub, email, email_verified$/],
  ["no_role", {}, { groups: ["Makers", "x"] }, /^roles includes none of the user's 2 groups: \["Makers","x"\]$/],
  ["no_role", {}, { groups: Array.from({ length: 999 }, () => "g".repeat(99)) }, /^.{200,400}$/],
  ["email_missing", {}, { groups: "makers", email: undefined }, /^the claim email is missing: the provider sent sub/],
  ["email_missing", {}, { groups: "makers", email: "ada" }, /is not an e-mail address$/],
  ["email_unverified", {}, { groups: "makers", email_verified: undefined }, /missing: see trust_email$/],
  ["email_unverified", {}, { groups: "makers", email_verified: "false" }, /is not true$/],
  [
    "email_domain",
    { email_domains: ["other.test"] },
    { groups: "makers" },
    /^email_domains does not include corp.test$/,
  ],
])("gives the log the reason why a user is refused: %s with %j, %j", (refused, changes, claims, reason) => {
  expect(admitted(changes, claims)).toEqual({ refused, reason: expect.stringMatching(reason) });
});

it.each([false, "false", "False", 0, 1, "", null, [true]])(
  "unverified-address: trust_email does not override email_verified: %j",
  (email_verified) => {
    const refused = { refused: "email_unverified", reason: "email_verified is not true" };
    expect(admitted({ trust_email: true }, { groups: "makers", email_verified })).toEqual(refused);
  },
);

it("unverified-address: trust_email admits a user without the claim and marks the address as not verified", () => {
  const claims = { groups: "makers", email_verified: undefined };
  expect(admitted({ trust_email: true }, claims)).toEqual({ email: person.email, role: "editor", verified: false });
});

it.each(["corp.test", "Corp.Test"])("compares email domains without regard to case: email_domains has %s", (domain) => {
  const claims = { groups: "makers", email: "Ada@CORP.TEST" };
  expect(admitted({ email_domains: [domain] }, claims)).toMatchObject({ email: "Ada@CORP.TEST", role: "editor" });
});

const [yes, no] = [{ email_verified: true }, { email_verified: false }];
const [ada, other] = [{ email: "ada@corp.test" }, { email: "other@corp.test" }];
it.each<[string, object, object, unknown]>([
  ["another address of userinfo", ada, { ...other, ...yes }, undefined],
  ["the same address of userinfo", ada, { email: "Ada@Corp.test", ...yes }, true],
  ["a no of userinfo for the address in another case", ada, { email: "Ada@Corp.test", ...no }, false],
  ["a no of userinfo for an address that is signed", { ...ada, ...yes }, { ...ada, ...no }, false],
  ["a no for another address", { ...ada, ...yes }, { ...other, ...no }, true],
  ["a yes without an address", yes, ada, undefined],
  ["a no without an address", no, { ...ada, ...yes }, false],
  ["userinfo alone", {}, { ...ada, ...yes }, true],
])("unverified-address: reads email_verified beside the ID token's address: %s", (_, signed, more, expected) => {
  const merged = mergeClaims({ sub: "ada", ...signed }, { sub: "ada", groups: ["makers"], ...more });
  expect(merged).toMatchObject({ email: ada.email, email_verified: expected });
  expect(admitted({}, { email_verified: undefined, ...merged })).toMatchObject(
    expected === true ? { verified: true } : { refused: "email_unverified" },
  );
});

it.each([
  "https://login.microsoftonline.com/COMMON/v2.0",
  "https://LOGIN.microsoftonline.com:443/Organizations/v2.0",
  "https://login.microsoftonline.com//%43ommon/v2.0",
  "https://login.microsoftonline.com/x/../consumers/v2.0",
  "https://login.microsoftonline.us/common",
  "https://login.partner.microsoftonline.cn/common/v2.0",
  "https://login.microsoftonline.com/9188040D-6c67-4c5b-b112-36a304b66dad/v2.0",
])("refuses a multi-tenant issuer: %s", (issuer) => {
  const { error } = identityProviders.safeParse([{ ...settings, issuer }]);
  expect(error?.issues.map(({ message }) => message)).toEqual([expect.stringContaining("URL of one tenant")]);
});

it.each(["https://login.microsoftonline.com/0197f0a0-0000-7000-8000-000000000000/v2.0", "https://id.test/common"])(
  "accepts a single-tenant issuer: %s",
  (issuer) => expect(identityProviders.safeParse([{ ...settings, issuer }]).success).toBe(true),
);
