import { uuidv7 } from "uuidv7";
import { admit, type AdmissionRefusal, type IdentityProvider } from "../../domain/accounts/identity-providers.ts";
import type { Role } from "../../domain/accounts/principal.ts";
import type { AuditActor } from "../../domain/audit/audit.ts";
import { ProviderFailed, type Claims, type OidcClient } from "../../platform/oidc/oidc-client.ts";
import { hashSecret } from "../../platform/secrets/crypto.ts";
import type { SecretBox } from "../../platform/secrets/seal.ts";
import { revokeKeysOfUser } from "../../stores/accounts/api-keys.ts";
import { findOrganisation } from "../../stores/accounts/organisations.ts";
import { insertProviderSignIn, takeProviderSignIn } from "../../stores/accounts/provider-sign-ins.ts";
import {
  findUserOfIdentity,
  hasIdentityOf,
  insertIdentity,
  touchIdentity,
  type Identity,
} from "../../stores/accounts/user-identities.ts";
import {
  USERS_EMAIL_KEY,
  findUser,
  findUsersByName,
  insertUser,
  updateUser,
  type User,
} from "../../stores/accounts/users.ts";
import { isUniqueViolation, type Database, type Db } from "../../stores/db.ts";
import { recordAudit, type AuditedChange } from "../audit/audit.ts";
import { recordSignIn, type SignInPlace } from "./record-sign-in.ts";
import { sealIdToken, endSignInsOfUser, openSession } from "./sessions.ts";

/** How long a sign-in at the provider may take. */
export const SIGN_IN_SECONDS = 600;
/** A hash that matches no password, for users created by a provider until an admin sets one. */
const NO_PASSWORD = "none";
const KEYS = ["user_identities_pkey", USERS_EMAIL_KEY];
const NOT_LINKED = "email_verified is missing: link_by_email requires it to be true, even with trust_email";
const NOT_WHOLE = "the URL has neither state with code, nor state with error";

export type SignInRefusal =
  | AdmissionRefusal
  | ProviderFailed["code"]
  | "address_invalid"
  | "sign_in_unknown"
  | "email_taken"
  | "locked_out"
  | "not_set_up";

/** Refusals after which earlier sessions of the user end too, because the provider no longer admits the person. */
const ENDS_ACCESS: readonly SignInRefusal[] = ["no_role", "email_domain"];

/** Why a sign-in by an identity provider ends without a session. */
export class SignInRefused extends Error {
  readonly code: SignInRefusal;

  constructor(code: SignInRefusal, cause?: unknown) {
    super(cause instanceof Error ? cause.message : code, { cause });
    this.name = "SignInRefused";
    this.code = code;
  }
}

interface ReturnedSignIn {
  readonly provider: IdentityProvider;
  /** The full URL that the browser returned to. */
  readonly returned: URL;
  /** The secret of the browser that started the sign-in. */
  readonly browser: string;
  readonly place: SignInPlace;
}

/** Signs people in through identity providers. Both methods throw SignInRefused. */
export function createProviderSignIn(db: Database, oidc: OidcClient, box: SecretBox, forget: (id: string) => void) {
  return {
    /** Starts a browser's sign-in, identified by the browser's own secret. Returns the URL to redirect to. */
    async start(provider: IdentityProvider, redirectUri: string, browser: string, returnTo: string): Promise<string> {
      const { url, state, ...checks } = await oidc.start(provider, redirectUri).catch(refuse);
      const hashes = { state_hash: hashSecret(state), browser_hash: hashSecret(browser) };
      const row = { ...hashes, ...checks, provider_id: provider.id, return_to: returnTo };
      await db.system((connection) => insertProviderSignIn(connection, { ...row, lifetime_seconds: SIGN_IN_SECONDS }));
      return url;
    },

    /** The secret for the new session's cookie, and the page to redirect to. */
    async finish({ provider, returned, browser, place }: ReturnedSignIn) {
      const state = returned.searchParams.get("state") ?? "";
      if (!isWhole(returned.searchParams)) throw new SignInRefused("address_invalid", new Error(NOT_WHOLE));
      const started = await db.system((connection) =>
        takeProviderSignIn(connection, hashSecret(state), hashSecret(browser), provider.id),
      );
      if (started === null) throw new SignInRefused("sign_in_unknown");
      const { claims, idToken } = await oidc.finish(provider, returned, { ...started, state }).catch(refuse);
      const { org_id } = provider;
      if (!(await db.org(org_id, (connection) => findOrganisation(connection, org_id))))
        throw new SignInRefused("not_set_up");
      const { user, keys } = await once(() =>
        db.orgTransaction(org_id, (connection) => settleUser(connection, provider, claims, place)),
      );
      for (const id of [...(user.user_id === null ? [] : [user.user_id]), ...keys]) forget(id);
      if ("refused" in user) throw new SignInRefused(user.refused, user.reason && new Error(user.reason));
      const who = { org_id, user_id: user.user_id };
      const by = {
        id: provider.id,
        // The ID token is kept only if it will be used.
        sealIdToken: (id: string) => (provider.end_provider_session ? sealIdToken(box, id, idToken) : null),
      };
      const from = { user_agent: place.user_agent ?? "", address: place.address ?? "", provider: by };
      const { secret } = await openSession(db, who, from, (connection, sessionId) =>
        recordSignIn(connection, place, who, sessionId, { provider: provider.id }),
      );
      return { secret, return_to: started.return_to };
    },
  };
}

/** Whether a returned URL is complete. An incomplete one must not use up the sign-in. */
function isWhole(returned: URLSearchParams): boolean {
  const has = (name: string): boolean => (returned.get(name) ?? "") !== "";
  return has("state") && (has("code") || has("error"));
}

function refuse(error: unknown): never {
  if (error instanceof ProviderFailed) throw new SignInRefused(error.code, error);
  throw error;
}

/** Retries once after a unique violation: of two concurrent first sign-ins, the second finds the user that the first created. */
async function once<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!KEYS.some((key) => isUniqueViolation(error, key))) throw error;
    return work();
  }
}

interface Settled {
  readonly user:
    | { readonly user_id: string }
    | { readonly user_id: string | null; readonly refused: SignInRefusal; readonly reason?: string };
  /** Ids of keys that were revoked. */
  readonly keys: readonly string[];
}

/** Finds, creates, links or updates the user of a provider's person, as the claims and settings say. */
async function settleUser(db: Db, provider: IdentityProvider, claims: Claims, place: SignInPlace): Promise<Settled> {
  const identity = { issuer: provider.issuer, subject: claims.sub };
  const record = recorder(db, provider, place);
  const userId = await findUserOfIdentity(db, identity);
  const known = userId === null ? null : await findUser(db, userId);
  const admission = admit(provider, claims);
  if ("refused" in admission) {
    await record.refused(admission.refused, known ?? undefined);
    const ends = known !== null && ENDS_ACCESS.includes(admission.refused);
    const keys = ends ? await endAccess(db, known.user_id) : [];
    return { user: { user_id: known?.user_id ?? null, ...admission }, keys };
  }
  const found = known ?? (await findLinked(db, provider, identity, admission));
  if (found === "email_taken") {
    await record.refused(found);
    const reason = provider.link_by_email && !admission.verified ? NOT_LINKED : found;
    return { user: { user_id: null, refused: found, reason }, keys: [] };
  }
  if (found === null) {
    const user = await makeUser(db, provider.org_id, identity, admission);
    await record.change(user, { after: { email: user.email, role: user.role, provider: provider.id } });
    return { user, keys: [] };
  }
  if (found.disabled_at !== null) {
    await record.refused("locked_out", found);
    return { user: { user_id: found.user_id, refused: "locked_out" }, keys: [] };
  }
  if (known === null) {
    await insertIdentity(db, found.user_id, identity);
    await record.change(found, { after: { provider: provider.id } });
  } else await touchIdentity(db, identity);
  return { user: found, keys: await setRole(db, found, admission.role, record) };
}

/** The user with the person's address, if the settings let verified addresses link; null if no user has it. */
async function findLinked(
  db: Db,
  { link_by_email, issuer }: IdentityProvider,
  identity: Identity,
  { email, verified }: { readonly email: string; readonly verified: boolean },
): Promise<User | "email_taken" | null> {
  const [user] = await findUsersByName(db, [email.toLowerCase()], null);
  if (!user) return null;
  // A user linked to one person of this provider is not linked to another person who later gets the same address.
  const isFree = link_by_email && verified && !(await hasIdentityOf(db, user.user_id, issuer));
  return isFree && identity.subject !== "" ? user : "email_taken";
}

async function makeUser(
  db: Db,
  org_id: string,
  identity: Identity,
  { email, role }: { readonly email: string; readonly role: Role },
): Promise<User> {
  const user = await insertUser(db, { user_id: uuidv7(), org_id, email, role, password_hash: NO_PASSWORD });
  await insertIdentity(db, user.user_id, identity);
  return user;
}

/** Only admins make keys, so a user who is no longer one loses them. The provider's groups decide, even for the last admin. */
async function setRole(db: Db, user: User, role: Role, record: Recorder): Promise<readonly string[]> {
  if (user.role === role) return [];
  await updateUser(db, user.user_id, { role });
  await record.change(user, { before: { role: user.role }, after: { role } });
  return role === "admin" ? [] : revokeKeysOfUser(db, user.user_id);
}

async function endAccess(db: Db, userId: string): Promise<readonly string[]> {
  await endSignInsOfUser(db, userId);
  return revokeKeysOfUser(db, userId);
}

type Recorder = ReturnType<typeof recorder>;

/** Records a sign-in's changes in the audit log. Their actor is the installation's settings, not the person. */
function recorder(db: Db, provider: IdentityProvider, { operation, ...from }: SignInPlace) {
  const common = { ...from, org_id: provider.org_id, actor_id: null, session_id: null };
  return {
    change({ user_id }: User, change: Pick<AuditedChange, "before" | "after">): Promise<void> {
      const actor: AuditActor = { ...common, actor_type: "system" };
      return recordAudit(db, actor, operation, { ...change, target: { type: "user", id: user_id } });
    },
    refused(reason: SignInRefusal, user?: User): Promise<void> {
      const actor: AuditActor = { ...common, actor_type: "user" };
      const target = user ? { target: { type: "user", id: user.user_id } } : {};
      const change = { ...target, after: { provider: provider.id, reason } };
      return recordAudit(db, actor, operation, change, "failure");
    },
  };
}
