import { uuidv7 } from "uuidv7";
import { generateToken, hashSecret, parseToken } from "../../platform/secrets/crypto.ts";
import { revokeTokensOfUser } from "../../stores/accounts/oauth-tokens.ts";
import type { Database, Db } from "../../stores/db.ts";
import { endSessionsOfUser, insertSession, insertSignInLink, takeSignInLink } from "../../stores/accounts/sessions.ts";

/** How long a link that signs in once may wait to be opened. */
const LINK_SECONDS = 900;
const SHOWN_CHARACTERS = 300;

export interface OpenedSession {
  readonly session_id: string;
  /** For the cookie; it is stored nowhere. */
  readonly secret: string;
}

type Who = { readonly org_id: string; readonly user_id: string };

/** The identity provider that a session is opened by. */
interface By {
  readonly id: string;
  /** Seals its ID token for this session; null where none is kept. */
  sealIdToken(sessionId: string): Buffer | null;
}

/**
 * Opens a session for somebody who has proved who they are. `from` is what the person recognises it by; `record` is called in its
 * transaction.
 */
export async function openSession(
  db: Database,
  { org_id, user_id }: Who,
  from: { readonly user_agent: string; readonly address: string; readonly provider?: By },
  record: (db: Db, sessionId: string) => Promise<void>,
): Promise<OpenedSession> {
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

/** Makes the secret of a link that signs a user in once. */
export async function createSignInLink(db: Database, { org_id, user_id }: Who): Promise<string> {
  const { value, hash } = generateToken("link");
  const link = { org_id, user_id, secret_hash: hash, lifetime_seconds: LINK_SECONDS };
  await db.org(org_id, (connection) => insertSignInLink(connection, link));
  return value;
}

/** Whose link it is, which is used up by that; null for one that is unknown, used or expired. */
export async function redeemSignInLink(db: Database, secret: string): Promise<Who | null> {
  if (parseToken(secret) !== "link") return null;
  return db.system((connection) => takeSignInLink(connection, hashSecret(secret)));
}

/** Ends whatever a user has signed in: sessions of the console, and tokens. API keys stay. */
export async function endSignInsOfUser(db: Db, userId: string): Promise<void> {
  await revokeTokensOfUser(db, userId);
  await endSessionsOfUser(db, userId);
}
