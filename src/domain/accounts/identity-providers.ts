import { z } from "zod";
import { fieldOf } from "../json.ts";
import { emailAddress } from "./accounts.ts";
import { ROLES, type Role } from "./principal.ts";

const PROVIDERS = 20;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
const MICROSOFT = /^login\.(partner\.)?microsoftonline\.[a-z]+\.?$/;
/** Microsoft tenants that stand for many organisations; the ID is that of all private accounts. */
const MANY_TENANTS = ["common", "organizations", "consumers", "9188040d-6c67-4c5b-b112-36a304b66dad"];
/** A user's groups beyond this number are ignored. */
const MAX_GROUPS = 10_000;
/** How many of a user's groups a log line names. */
const SEEN = 10;

const text = (max: number) => {
  const error = `must be text of 1 to ${max} characters`;
  return z.string({ error }).min(1, { error }).max(max, { error });
};
const bool = z.boolean({ error: "must be true or false" });
const role = z.enum(ROLES, { error: `must be one of ${ROLES.join(", ")}` });
const listOf = <T extends z.ZodType>(item: T) =>
  z.array(item, { error: "must be a list" }).max(100, { error: "must have at most 100 items" });

const issuer = text(2000)
  .refine(isIssuer, "must be an https URL without a query; http is allowed only for this machine")
  .refine((url) => !isOfManyTenants(url), "must be the URL of one tenant; this one covers all tenants");

function isIssuer(given: string): boolean {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || url.search !== "" || url.hash !== "" || url.username !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname));
}

/** Decodes and lower-cases first, because Microsoft accepts the tenant's name in any case and with escaped letters. */
function isOfManyTenants(given: string): boolean {
  const { hostname, pathname } = new URL(given);
  const name = pathname.split("/").find((part) => part !== "") ?? "";
  const letters = name.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
  return MICROSOFT.test(hostname) && MANY_TENANTS.includes(letters.toLowerCase());
}

const providerSchema = z
  .strictObject(
    {
      id: z
        .string({ error: "must be a short name" })
        .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, "must be 1 to 40 lowercase letters, digits and hyphens"),
      name: text(100),
      issuer,
      client_id: text(500),
      client_secret: text(2000).optional(),
      client_auth: z.enum(["basic", "post"], { error: "must be basic or post" }).default("basic"),
      scopes: listOf(text(200))
        .refine((scopes) => scopes.includes("openid"), "must include openid")
        .default(["openid", "email", "profile"]),
      org_id: z.uuid({ error: "must be the ID of an organisation" }).toLowerCase(),
      groups_claim: text(200).default("groups"),
      roles: z.record(z.string(), role, { error: "must be an object of group: role" }).default({}),
      default_role: role.optional(),
      email_domains: listOf(text(253).toLowerCase()).optional(),
      link_by_email: bool.default(false),
      trust_email: bool.default(false),
      end_provider_session: bool.default(false),
    },
    { error: "must be an object with the fields listed in docs/sign-in.md" },
  )
  .refine(({ roles, default_role }) => default_role !== undefined || Object.keys(roles).length > 0, {
    error: "set roles or default_role; without them no one can sign in",
  });

export const identityProviders = listOf(providerSchema)
  .max(PROVIDERS, { error: `must have at most ${PROVIDERS} providers` })
  .refine((all) => new Set(all.map(({ id }) => id)).size === all.length, { error: "each id must be unique" });

export type IdentityProvider = Readonly<z.infer<typeof providerSchema>>;

/** Why a person with an identity at the provider may not sign in. */
export type AdmissionRefusal = "email_missing" | "email_unverified" | "email_domain" | "no_role" | "groups_left_out";

export type Admission =
  /** `verified` is true only if the provider itself says so; `trust_email` does not set it. */
  | { readonly email: string; readonly role: Role; readonly verified: boolean }
  /** The reason is for the operator's log. */
  | { readonly refused: AdmissionRefusal; readonly reason: string };

type Claims = Readonly<Record<string, unknown>>;

/** Reads a person's e-mail address and role from the provider's claims, by its settings; or says why the person may not sign in. */
export function admit(provider: IdentityProvider, claims: Claims): Admission {
  // The groups are unknown, so neither the default role nor the lack of a role would be right.
  if (Object.keys(provider.roles).length > 0 && areGroupsLeftOut(claims, provider.groups_claim)) {
    const reason = `the user is in more groups than the provider sends: limit ${provider.groups_claim} to the groups of this application, or use app roles`;
    return { refused: "groups_left_out", reason };
  }
  const granted = roleOf(provider, claims);
  if (granted === undefined) return { refused: "no_role", reason: groupsSeen(provider, claims) };
  const email = emailAddress.safeParse(claims["email"]);
  if (!email.success) {
    const isThere = claims["email"] !== undefined;
    const reason = isThere
      ? "the claim email is not an e-mail address"
      : `the claim email is missing: ${claimsSeen(claims)}`;
    return { refused: "email_missing", reason };
  }
  // An unverified address may belong to another person, and approvals are assigned by address.
  const said = claims["email_verified"];
  const verified = isYes(said);
  if (!verified && (said !== undefined || !provider.trust_email)) {
    const reason = `email_verified is ${said === undefined ? "missing: see trust_email" : "not true"}`;
    return { refused: "email_unverified", reason };
  }
  const domain = email.data.slice(email.data.lastIndexOf("@") + 1).toLowerCase();
  if (provider.email_domains && !provider.email_domains.includes(domain))
    return { refused: "email_domain", reason: `email_domains does not include ${domain}` };
  return { email: email.data, role: granted, verified };
}

/**
 * Merges the claims of the ID token with those of userinfo; the signed claims of the ID token take precedence. A true `email_verified`
 * counts only for the address beside it; a false one, for the same address or without an address, overrides it.
 */
export function mergeClaims<T extends Claims>(signed: T, more: Claims): T {
  const both = { ...more, ...signed };
  const sayings = [signed, more]
    .filter(
      ({ email, email_verified }) =>
        foldedAddress(email) === foldedAddress(both["email"]) || (email === undefined && !isYes(email_verified)),
    )
    .flatMap(({ email_verified }) => (email_verified === undefined ? [] : [email_verified]));
  return { ...both, email_verified: sayings.every(isYes) ? sayings[0] : false };
}

const foldedAddress = (email: unknown): unknown => (typeof email === "string" ? email.toLowerCase() : email);

/** Amazon Cognito and Apple send `email_verified` as a string. */
const isYes = (said: unknown): boolean => said === true || said === "true";

/** Whether the groups are missing because there are too many: Entra ID omits them then, and says so in another claim. */
function areGroupsLeftOut(claims: Claims, name: string): boolean {
  if (fieldOf(claims, name) !== undefined) return false;
  const elsewhere = claims["_claim_names"];
  const isElsewhere = typeof elsewhere === "object" && elsewhere !== null && Object.hasOwn(elsewhere, name);
  return isElsewhere || (name === "groups" && [true, "true"].includes(claims["hasgroups"] as boolean | string));
}

/** For the log: what the provider sent instead of a group that grants a role. */
function groupsSeen({ groups_claim, roles }: IdentityProvider, claims: Claims): string {
  if (Object.keys(roles).length === 0) return "default_role is not set";
  if (fieldOf(claims, groups_claim) === undefined) return `the claim ${groups_claim} is missing: ${claimsSeen(claims)}`;
  const groups = groupsIn(claims, groups_claim);
  return `roles includes none of the user's ${groups.length} groups: ${JSON.stringify(groups.slice(0, SEEN)).slice(0, 300)}`;
}

const claimsSeen = (claims: Claims): string =>
  `the provider sent ${Object.keys(claims).slice(0, 30).join(", ").slice(0, 300)}`;

/** The highest role that the person's groups grant, else the default role. */
function roleOf({ groups_claim, roles, default_role }: IdentityProvider, claims: Claims): Role | undefined {
  const groups = groupsIn(claims, groups_claim);
  const granted = groups.flatMap((group) => (Object.hasOwn(roles, group) ? [roles[group]] : []));
  return ROLES.findLast((each) => granted.includes(each)) ?? default_role;
}

/** The names in a claim, which is a list of strings, one string, or an object whose keys are the names, as Zitadel sends. */
function groupsIn(claims: Claims, name: string): string[] {
  const value = fieldOf(claims, name);
  const isObject = typeof value === "object" && value !== null;
  const items: unknown[] = Array.isArray(value) ? value : isObject ? Object.keys(value) : [value];
  return items.slice(0, MAX_GROUPS).filter((item) => typeof item === "string");
}
