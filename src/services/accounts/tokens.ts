import { uuidv7 } from "uuidv7";
import { generateToken, hashSecret, parseToken } from "../../platform/secrets/crypto.ts";
import type { Database, Db } from "../../stores/db.ts";
import { consumeToken, findTokenByHash, insertToken, revokeTokensOfUser } from "../../stores/accounts/oauth-tokens.ts";

const ACCESS_SECONDS = 3600;
const REFRESH_SECONDS = 30 * 24 * 3600;
/** A refresh token seen again this soon after its use is a client that repeats a request, not a thief. */
const REUSE_GRACE_MS = 10_000;

export interface TokenPair {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
}

export interface TokenService {
  /** The tokens of a new session. `record` is called in their transaction. */
  issue(
    user: { readonly org_id: string; readonly user_id: string },
    record?: (db: Db) => Promise<void>,
  ): Promise<TokenPair>;
  /**
   * Gives a new pair for a refresh token, which is used up by that. Null when it is not valid. One that was used up before
   * may have been stolen: then all sessions of the user end.
   */
  refresh(refreshToken: string): Promise<TokenPair | null>;
}

export function createTokenService(db: Database, forgetUser: (userId: string) => void): TokenService {
  async function issue(
    user: { readonly org_id: string; readonly user_id: string },
    record?: (db: Db) => Promise<void>,
  ): Promise<TokenPair> {
    const access = generateToken("access");
    const refresh = generateToken("refresh");
    const common = { org_id: user.org_id, user_id: user.user_id, scope: "" };
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
    issue,

    async refresh(refreshToken) {
      if (parseToken(refreshToken) !== "refresh") return null;
      const token = await db.system((connection) => findTokenByHash(connection, hashSecret(refreshToken)));
      if (!token || token.kind !== "refresh" || token.disabled_at !== null) return null;
      if (await db.system((connection) => consumeToken(connection, token.token_id))) return issue(token);
      if (token.revoked_at !== null && Date.now() - Date.parse(token.revoked_at) > REUSE_GRACE_MS) {
        await db.system((connection) => revokeTokensOfUser(connection, token.user_id));
        forgetUser(token.user_id);
      }
      return null;
    },
  };
}
