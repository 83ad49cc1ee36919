import { z } from "zod";
import { fieldOf } from "../json.ts";
import { emailAddress } from "./accounts.ts";
import { ROLES } from "./principal.ts";
import type { Role } from "./principal.ts";

const PROVIDERS = 20;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
/** Addresses of Microsoft that stand for every tenant there is. */
const EVERY_TENANT = /^https:\/\/login\.microsoftonline\.[a-z]+\/(common|organizations|consumers)(\/|$)/;
/** More groups than any role needs, and longer names. */
const MAX_GROUPS = 10_000;
/** Groups that a line of the log names. */
const SEEN = 10;

const text = (max: number) => {
  const error = `a text of 1 to ${max} characters is expected`;
  return z.string({ error }).min(1, { error }).max(max, { error });
};
const bool = z.boolean({ error: "true or false is expected" });
const role = z.enum(ROLES, { error: `one of ${ROLES.join(", ")} is expected` });
const listOf = <T extends z.ZodType>(item: T) =>
  z.array(item, { error: "a list is expected" }).max(100, { error: "at most 100 are expected" });

const issuer = text(2000)
  .refine(isIssuer, "an https address without a query is expected; http only on this machine")
  .refine((url) => !EVERY_TENANT.test(url), "the address of one tenant is expected: this one is of all of them");

function isIssuer(given: string): boolean {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || url.search !== "" || url.hash !== "" || url.username !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname));
}

const providerSchema = z
  .strictObject(
    {
      id: z
        .string({ error: "a short name is expected" })
        .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, "1 to 40 small letters, digits and - are expected"),
      name: text(100),
      issuer,
      client_id: text(500),
      client_secret: text(2000).optional(),
      client_auth: z.enum(["basic", "post"], { error: "basic or post is expected" }).default("basic"),
      scopes: listOf(text(200))
        .refine((scopes) => scopes.includes("openid"), "openid has to be among them")
        .default(["openid", "email", "profile"]),
      org_id: z.uuid({ error: "the id of an organisation is expected" }).toLowerCase(),
      groups_claim: text(200).default("groups"),
      roles: z.record(z.string(), role, { error: "an object of group: role is expected" }).default({}),
      default_role: role.optional(),
      email_domains: listOf(text(253).toLowerCase()).optional(),
      link_by_email: bool.default(false),
      trust_email: bool.default(false),
      end_provider_session: bool.default(false),
    },
    { error: "an object with the members of docs/sign-in.md is expected" },
  )
  .refine(({ roles, default_role }) => default_role !== undefined || Object.keys(roles).length > 0, {
    error: "roles or default_role has to be there: nobody could sign in",
  });

/** What an installation's settings say of its identity providers. */
export const identityProviders = listOf(providerSchema)
  .max(PROVIDERS, { error: `at most ${PROVIDERS} providers are expected` })
  .refine((all) => new Set(all.map(({ id }) => id)).size === all.length, { error: "each id may be there once" });

export type IdentityProvider = Readonly<z.infer<typeof providerSchema>>;

/** Why a person whom a provider knows is not let in. */
export type AdmissionRefusal = "email_missing" | "email_unverified" | "email_domain" | "no_role" | "groups_left_out";

export type Admission =
  | { readonly email: string; readonly role: Role }
  /** The reason is for the operator's log. */
  | { readonly refused: AdmissionRefusal; readonly reason: string };

type Claims = Readonly<Record<string, unknown>>;

/** The person that a provider identifies, as the settings read its claims. */
export function admit(provider: IdentityProvider, claims: Claims): Admission {
  // Neither the default role nor none: the groups are not known.
  if (Object.keys(provider.roles).length > 0 && areGroupsLeftOut(claims, provider.groups_claim)) {
    const reason = `the person is in more groups than the provider sends: let ${provider.groups_claim} have only those of the application, or use app roles`;
    return { refused: "groups_left_out", reason };
  }
  const granted = roleOf(provider, claims);
  if (granted === undefined) return { refused: "no_role", reason: groupsSeen(provider, claims) };
  const email = emailAddress.safeParse(claims["email"]);
  if (!email.success) {
    const isThere = claims["email"] !== undefined;
    const reason = isThere ? "the claim email is no address" : `there is no claim email: ${claimsSeen(claims)}`;
    return { refused: "email_missing", reason };
  }
  // An address that nobody has checked may be somebody else's, who is asked by it to approve.
  if (!isVerified(claims) && !provider.trust_email) {
    const reason = `email_verified is ${claims["email_verified"] === undefined ? "absent: see trust_email" : "not true"}`;
    return { refused: "email_unverified", reason };
  }
  const domain = email.data.slice(email.data.lastIndexOf("@") + 1).toLowerCase();
  if (provider.email_domains && !provider.email_domains.includes(domain))
    return { refused: "email_domain", reason: `email_domains lacks ${domain}` };
  return { email: email.data, role: granted };
}

/** Amazon Cognito and Apple write it as a text. */
const isVerified = ({ email_verified }: Claims): boolean => email_verified === true || email_verified === "true";

/** Entra ID leaves out the groups of who is in too many of them, and says so. */
function areGroupsLeftOut(claims: Claims, name: string): boolean {
  if (fieldOf(claims, name) !== undefined) return false;
  const elsewhere = claims["_claim_names"];
  const isElsewhere = typeof elsewhere === "object" && elsewhere !== null && Object.hasOwn(elsewhere, name);
  return isElsewhere || (name === "groups" && [true, "true"].includes(claims["hasgroups"] as boolean | string));
}

/** For the log: what the provider sent in place of a group that gives a role. */
function groupsSeen({ groups_claim, roles }: IdentityProvider, claims: Claims): string {
  if (Object.keys(roles).length === 0) return "there is no default_role";
  if (fieldOf(claims, groups_claim) === undefined) return `there is no claim ${groups_claim}: ${claimsSeen(claims)}`;
  const groups = groupsIn(claims, groups_claim);
  return `roles has none of the ${groups.length} groups: ${JSON.stringify(groups.slice(0, SEEN)).slice(0, 300)}`;
}

const claimsSeen = (claims: Claims): string => `it sent ${Object.keys(claims).slice(0, 30).join(", ").slice(0, 300)}`;

/** The highest role of the person's groups, else the default. */
function roleOf({ groups_claim, roles, default_role }: IdentityProvider, claims: Claims): Role | undefined {
  const groups = groupsIn(claims, groups_claim);
  const granted = groups.flatMap((group) => (Object.hasOwn(roles, group) ? [roles[group]] : []));
  return ROLES.findLast((each) => granted.includes(each)) ?? default_role;
}

/** The names in a claim: a list of texts, one text, or an object's members, as Zitadel has them. */
function groupsIn(claims: Claims, name: string): string[] {
  const value = fieldOf(claims, name);
  const isObject = typeof value === "object" && value !== null;
  const items: unknown[] = Array.isArray(value) ? value : isObject ? Object.keys(value) : [value];
  return items.slice(0, MAX_GROUPS).filter((item) => typeof item === "string");
}
