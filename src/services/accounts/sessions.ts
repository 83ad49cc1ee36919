import { uuidv7 } from "uuidv7";
import { generateToken, hashSecret, parseToken } from "../../platform/secrets/crypto.ts";
import { revokeTokensOfUser } from "../../stores/accounts/oauth-tokens.ts";
import type { Database, Db } from "../../stores/db.ts";
import { endSessionsOfUser, insertSession, insertSignInLink, takeSignInLink } from "../../stores/accounts/sessions.ts";
import { SealBroken, type SecretBox } from "../../platform/secrets/seal.ts";
import { secretContext } from "../../stores/secrets/sealed.ts";

/** How long a one-time sign-in link is valid. */
const LINK_SECONDS = 900;
const SHOWN_CHARACTERS = 300;

/** A user of an organisation. */
export type Who = { readonly org_id: string; readonly user_id: string };

/** The identity provider that opened a session. */
interface By {
  readonly id: string;
  /** Seals its ID token for this session; null if none is kept. */
  sealIdToken(sessionId: string): Buffer | null;
}

/**
 * Opens a session for an authenticated user; `secret` is the cookie's value, whose hash is stored. `from` helps the
 * person to recognise it; `record` is called in its transaction.
 */
export async function openSession(
  db: Database,
  { org_id, user_id }: Who,
  from: { readonly user_agent: string; readonly address: string; readonly provider?: By },
  record: (db: Db, sessionId: string) => Promise<void>,
) {
  const secret = generateToken("session");
  const session_id = uuidv7();
  const session = {
    session_id,
    org_id,
    user_id,
    secret_hash: secret.hash,
    user_agent: from.user_agent.slice(0, SHOWN_CHARACTERS),
    address: from.address,
    provider_id: from.provider?.id ?? null,
    id_token: from.provider?.sealIdToken(session_id) ?? null,
  };
  await db.orgTransaction(org_id, async (connection) => {
    await insertSession(connection, session);
    await record(connection, session_id);
  });
  return { session_id, secret: secret.value };
}

/** Creates the secret of a one-time sign-in link for a user. */
export async function createSignInLink(db: Database, { org_id, user_id }: Who): Promise<string> {
  const { value, hash } = generateToken("link");
  const link = { org_id, user_id, secret_hash: hash, lifetime_seconds: LINK_SECONDS };
  await db.org(org_id, (connection) => insertSignInLink(connection, link));
  return value;
}

/** The owner of a sign-in link, which can be redeemed only once; null if it is unknown, used or expired. */
export async function redeemSignInLink(db: Database, secret: string): Promise<Who | null> {
  if (parseToken(secret) !== "link") return null;
  return db.system((connection) => takeSignInLink(connection, hashSecret(secret)));
}

/** Ends all console sessions and tokens of a user. API keys are kept. */
export async function endSignInsOfUser(db: Db, userId: string): Promise<void> {
  await revokeTokensOfUser(db, userId);
  await endSessionsOfUser(db, userId);
}

/** The token becomes part of a URL, and servers refuse long URLs. */
const MAX_CHARACTERS = 6000;

/** Null if it is too long to be of use. */
export function sealIdToken(box: SecretBox, sessionId: string, idToken: string): Buffer | null {
  return idToken.length > MAX_CHARACTERS ? null : box.seal(idToken, secretContext("sessions", sessionId, "id_token"));
}

/** Null if there is none or no master key opens it; the provider's sign-out also works without it. */
export function openIdToken(box: SecretBox, sessionId: string, sealed: Buffer | null): string | null {
  try {
    return sealed && box.open(sealed, secretContext("sessions", sessionId, "id_token"));
  } catch (error) {
    if (error instanceof SealBroken) return null;
    throw error;
  }
}
