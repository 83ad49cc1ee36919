import { expect, it } from "vitest";
import { admit, identityProviders } from "../../src/domain/accounts/identity-providers.ts";

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
  expect(admitted({ groups_claim }, claims)).toEqual({ email: person.email, role: "editor" });
});

it.each<[object]>([
  [{ _claim_names: { groups: "src1" }, _claim_sources: { src1: { endpoint: "https://graph.example.com" } } }],
  [{ hasgroups: true }],
  [{ hasgroups: "true" }],
])("gives nobody the default role whose groups are left out: %j", (claims) => {
  const refused = { refused: "groups_left_out", reason: expect.stringContaining("more groups than") };
  expect(admitted({ default_role: "viewer" }, claims)).toEqual(refused);
  expect(admitted({ default_role: "viewer", roles: {} }, claims)).toMatchObject({ role: "viewer" });
  expect(admitted({ default_role: "viewer", groups_claim: "roles" }, claims)).toMatchObject({ role: "viewer" });
});

it.each<[string, object, object, RegExp]>([
  ["no_role", {}, {}, /^there is no claim groups: it sent sub, email, email_verified$/],
  ["no_role", {}, { groups: ["Makers", "x"] }, /^roles has none of the 2 groups: \["Makers","x"\]$/],
  ["no_role", {}, { groups: Array.from({ length: 999 }, () => "g".repeat(99)) }, /^.{200,400}$/],
  ["email_missing", {}, { groups: "makers", email: undefined }, /^there is no claim email: it sent sub/],
  ["email_missing", {}, { groups: "makers", email: "ada" }, /is no address$/],
  ["email_unverified", {}, { groups: "makers", email_verified: undefined }, /absent: see trust_email$/],
  ["email_unverified", {}, { groups: "makers", email_verified: "false" }, /is not true$/],
  ["email_domain", { email_domains: ["other.test"] }, { groups: "makers" }, /^email_domains lacks corp.test$/],
])("says for the log why somebody is refused: %s with %j, %j", (refused, changes, claims, reason) => {
  expect(admitted(changes, claims)).toEqual({ refused, reason: expect.stringMatching(reason) });
});
