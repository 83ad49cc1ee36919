import { LRUCache } from "lru-cache";
import { isObject } from "../../domain/json.ts";
import { textOf, type Credential } from "../../domain/providers/connection.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { FetchFailed, FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import type { GuardedFetch, GuardedResponse } from "../../platform/fetch/guarded-fetch.ts";

const MAX_TOKENS = 10_000;
/** How long a token is used if the service does not state its lifetime (ms). */
const DEFAULT_LIFE_MS = 300_000;
/** A token is no longer used this long before it expires (ms), or a tenth of its lifetime if that is shorter. */
const MARGIN_MS = 60_000;
/** Short, because a person may be waiting for the check of a connection. */
const LIMITS = { responseBytes: 256 * 1024, totalMs: 4000 };

/** Thrown when a token service refuses a client's credential. Its message contains no secret. */
export class TokenRefused extends NodeFailure {
  constructor(message: string) {
    super("connection_rejected", message, { upstream: true });
  }
}

interface KeptToken {
  readonly text: Promise<string>;
  /** Ms since 1970; unknown while it is being fetched. */
  until: number;
}

/** Keeps access tokens of OAuth 2.0 client credentials in memory until they expire. */
export function createAccessTokens(guardedFetch: Pick<GuardedFetch, "fetch">) {
  const tokens = new LRUCache<string, KeptToken>({ max: MAX_TOKENS });

  function fetchToken(key: string, credential: Credential): Promise<string> {
    const kept: KeptToken = {
      text: requestToken(guardedFetch, credential).then(({ token, lifeMs }) => {
        kept.until = Date.now() + lifeMs - Math.min(MARGIN_MS, lifeMs / 10);
        return token;
      }),
      until: Number.POSITIVE_INFINITY,
    };
    kept.text.catch(() => {
      if (tokens.peek(key) === kept) tokens.delete(key);
    });
    tokens.set(key, kept);
    return kept.text;
  }

  return {
    /**
     * The access token of a client; `key` identifies its credential. If the cached token is `instead`, a new one is
     * fetched. Throws TokenRefused, or NodeFailure `http_failed` and `http_refused`.
     */
    async get(key: string, credential: Credential, instead?: string): Promise<string> {
      const kept = tokens.get(key);
      if (kept === undefined || kept.until <= Date.now()) return fetchToken(key, credential);
      const token = await kept.text;
      return token === instead ? fetchToken(key, credential) : token;
    },
    /** Fetches a new token even if one is cached, to check whether the client is still valid. Throws as `get`. */
    renew: fetchToken,
  };
}

interface IssuedToken {
  readonly token: string;
  readonly lifeMs: number;
}

/**
 * Requests a token, first with HTTP Basic, which every service must accept, then with the credential in the form, which
 * is all that some accept.
 */
async function requestToken(guardedFetch: Pick<GuardedFetch, "fetch">, credential: Credential): Promise<IssuedToken> {
  const id = textOf(credential, "client_id");
  const secret = textOf(credential, "client_secret");
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  for (const name of ["scope", "audience"]) if (textOf(credential, name)) form.set(name, textOf(credential, name));
  const pair = `${formEncoded(id)}:${formEncoded(secret)}`;
  const ask = (body: URLSearchParams, headers: Record<string, string>): Promise<GuardedResponse> =>
    guardedFetch.fetch({
      url: textOf(credential, "token_url"),
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded", ...headers },
      body: body.toString(),
      redirects: 0,
      limits: LIMITS,
    });
  try {
    const first = await ask(form, { authorization: `Basic ${Buffer.from(pair).toString("base64")}` });
    if (first.status < 400 || first.status >= 500) return issuedToken(first);
    return issuedToken(await ask(new URLSearchParams([...form, ["client_id", id], ["client_secret", secret]]), {}));
  } catch (error) {
    if (error instanceof FetchRefused) throw new NodeFailure("http_refused", error.message, { cause: error });
    if (!(error instanceof FetchFailed)) throw error;
    throw new NodeFailure("http_failed", error.message, { upstream: true, retryable: error.retryable, cause: error });
  }
}

function issuedToken({ status, url, body }: GuardedResponse): IssuedToken {
  const { origin } = new URL(url);
  const { access_token, expires_in, error } = membersOf(body);
  if (status === 200 && typeof access_token === "string" && access_token !== "") {
    const seconds = Number(expires_in);
    return { token: access_token, lifeMs: seconds > 0 ? seconds * 1000 : DEFAULT_LIFE_MS };
  }
  if (status >= 500 || status === 429) {
    const message = `The token service ${origin} returned status ${status}.`;
    throw new NodeFailure("http_status", message, { upstream: true, upstream_status: status, retryable: true });
  }
  // Only the codes of RFC 6749 are quoted: other texts may echo the credential.
  const code = typeof error === "string" && /^[a-z_]{1,40}$/.test(error) ? `: ${error}` : "";
  throw new TokenRefused(`The token service ${origin} returned no token (${status}${code}).`);
}

function membersOf(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Encodes a client's ID or secret as RFC 6749, section 2.3.1, requires before HTTP Basic. */
function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}
