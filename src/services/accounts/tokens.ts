import { uuidv7 } from "uuidv7";
import { generateToken, hashSecret, parseToken } from "../../platform/secrets/crypto.ts";
import type { Database, Db } from "../../stores/db.ts";
import {
  consumeToken,
  findTokenByHash,
  insertToken,
  revokeTokensOfUser,
  type TokenSession,
} from "../../stores/accounts/oauth-tokens.ts";
import type { Who } from "./sessions.ts";

const ACCESS_SECONDS = 3600;
const REFRESH_SECONDS = 30 * 24 * 3600;
/** Reuse of a refresh token within this time counts as a client's retry, not as theft (ms). */
const REUSE_GRACE_MS = 10_000;

export interface TokenPair {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
}

/** Where a request for tokens comes from. */
export type TokenClient = Pick<TokenSession, "user_agent" | "address">;

/** Longest part of a client's user agent that is kept (characters). */
const MAX_USER_AGENT = 300;

export function createTokenService(db: Database, forgetUser: (userId: string) => void) {
  async function issue(
    user: Who,
    { user_agent, address }: TokenClient,
    earlier: Pick<TokenSession, "session_id" | "began_at">,
    record?: (db: Db) => Promise<void>,
  ): Promise<TokenPair> {
    const access = generateToken("access");
    const refresh = generateToken("refresh");
    const session = { ...earlier, user_agent: user_agent.slice(0, MAX_USER_AGENT), address };
    const common = { org_id: user.org_id, user_id: user.user_id, scope: "", ...session };
    await db.systemTransaction(async (connection) => {
      const lifetimes = [
        ["access", access.hash, ACCESS_SECONDS],
        ["refresh", refresh.hash, REFRESH_SECONDS],
      ] as const;
      for (const [kind, secret_hash, lifetime_seconds] of lifetimes) {
        await insertToken(connection, { ...common, token_id: uuidv7(), kind, secret_hash, lifetime_seconds });
      }
      await record?.(connection);
    });
    return { access_token: access.value, refresh_token: refresh.value, expires_in: ACCESS_SECONDS };
  }

  return {
    /** Creates the tokens of a new session, and calls `record` in the same transaction. */
    issue: (user: Who, client: TokenClient, record?: (db: Db) => Promise<void>) =>
      issue(user, client, { session_id: uuidv7(), began_at: null }, record),

    /**
     * Exchanges a refresh token, which can be used once, for a new pair of tokens. Null if it is not valid. A token that
     * was used up before may have been stolen: then all sessions of the user end.
     */
    async refresh(refreshToken: string, client: TokenClient): Promise<TokenPair | null> {
      if (parseToken(refreshToken) !== "refresh") return null;
      const token = await db.system((connection) => findTokenByHash(connection, hashSecret(refreshToken)));
      if (!token || token.kind !== "refresh" || token.disabled_at !== null) return null;
      if (await db.system((connection) => consumeToken(connection, token.token_id))) {
        const { session_id, token_id, began_at } = token;
        return issue(token, client, { session_id: session_id ?? token_id, began_at });
      }
      // The session was ended on request (see endTokenSession), so this is not a sign of theft.
      if (token.revoked_at !== null && Date.parse(token.expires_at) <= Date.parse(token.revoked_at)) return null;
      if (token.revoked_at !== null && Date.now() - Date.parse(token.revoked_at) > REUSE_GRACE_MS) {
        await db.system((connection) => revokeTokensOfUser(connection, token.user_id));
        forgetUser(token.user_id);
      }
      return null;
    },
  };
}
