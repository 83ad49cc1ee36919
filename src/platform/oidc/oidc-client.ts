import { LRUCache } from "lru-cache";
import * as oidc from "openid-client";
import { fieldOf } from "../../domain/json.ts";
import { mergeClaims, type IdentityProvider } from "../../domain/accounts/identity-providers.ts";
import { fetchAdapter } from "../fetch/fetch-adapter.ts";
import { FetchFailed, FetchRefused } from "../fetch/guarded-fetch-errors.ts";
import { createOwnFetch } from "../fetch/own-fetch.ts";
import { within } from "../within.ts";
import { reasonOf } from "./advice.ts";

const TIMEOUT_SECONDS = 10;
/** How long signing out waits for a provider's metadata. */
const SIGN_OUT_SECONDS = 2;
const MAX_BYTES = 1024 * 1024;
/** How far ahead a provider's clock may be. */
const AHEAD_SECONDS = 300;
/** How long a provider's metadata is cached. Its keys are renewed by their IDs. */
const DISCOVERED_MS = 3_600_000;
const NO_ANSWER: readonly string[] = ["OAUTH_TIMEOUT", "OAUTH_ABORT", "OAUTH_RESPONSE_IS_NOT_CONFORM"];

/** What a sign-in needs when the browser returns. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly code_verifier: string;
}

export interface StartedSignIn extends SignInChecks {
  /** The URL to which the browser is sent. */
  readonly url: string;
}

export type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

export interface FinishedSignIn {
  /** The person who signed in. */
  readonly claims: Claims;
  readonly idToken: string;
}

/** Why a provider identified no one. The message is for the log only, because parts of it come from the provider. */
export class ProviderFailed extends Error {
  readonly code: "provider_unavailable" | "provider_refused" | "provider_answer";

  constructor(code: ProviderFailed["code"], cause: unknown, clientSecret?: string) {
    super(reasonOf(cause, clientSecret), { cause });
    this.name = "ProviderFailed";
    this.code = code;
  }
}

/** Speaks OpenID Connect with identity providers: the authorisation code flow with PKCE. Throws ProviderFailed. */
export interface OidcClient {
  start(provider: IdentityProvider, redirectUri: string): Promise<StartedSignIn>;
  /** Returns the person who signed in, from the URL to which the browser returned. */
  finish(provider: IdentityProvider, returned: URL, checks: SignInChecks): Promise<FinishedSignIn>;
  /**
   * The URL at which a browser ends its session at the provider, and then returns; null if the provider has no such URL. An ID token of
   * another issuer, from earlier settings of the provider, is not sent.
   */
  signOutUrl(provider: IdentityProvider, returnTo: string, idToken: string | null): Promise<string | null>;
  close(): Promise<void>;
}

/** Provider URLs are settings, so they may be private. No provider is contacted before someone signs in. */
export function createOidcClient(allow: readonly string[], providers: readonly IdentityProvider[]): OidcClient {
  const guarded = createOwnFetch(
    allow,
    providers.map(({ issuer }) => issuer),
  );
  const fetch = fetchAdapter(guarded, { limits: { responseBytes: MAX_BYTES } });
  const known = new LRUCache<string, oidc.Configuration, IdentityProvider>({
    max: Math.max(1, providers.length),
    ttl: DISCOVERED_MS,
    noDeleteOnFetchRejection: true,
    fetchMethod: (_id, _earlier, { context }) => ask(context),
  });

  /** Earlier metadata is better than none. */
  const orEarlier =
    ({ id }: IdentityProvider) =>
    (error: unknown): oidc.Configuration => {
      const earlier = known.peek(id, { allowStale: true });
      if (earlier) return earlier;
      throw error instanceof ProviderFailed ? error : new ProviderFailed(codeOf(error), error);
    };

  const discover = (provider: IdentityProvider): Promise<oidc.Configuration> =>
    known.forceFetch(provider.id, { context: provider }).catch(orEarlier(provider));

  /** For a person who can sign out without the provider: uses earlier metadata if the provider does not respond in time. */
  const discoverSoon = (provider: IdentityProvider): Promise<oidc.Configuration> => {
    const late = new Error(`no response within ${SIGN_OUT_SECONDS} seconds`);
    const unavailable = (): Error => new ProviderFailed("provider_unavailable", late);
    return within(SIGN_OUT_SECONDS * 1000, discover(provider), unavailable).catch(orEarlier(provider));
  };

  async function ask(provider: IdentityProvider): Promise<oidc.Configuration> {
    const server = new URL(provider.issuer);
    return await oidc.discovery(server, provider.client_id, {}, authenticationOf(provider), {
      [oidc.customFetch]: fetch as oidc.CustomFetch,
      timeout: TIMEOUT_SECONDS,
      // The signature of an ID token is checked even though it comes from the provider itself.
      execute: [oidc.enableNonRepudiationChecks, ...(server.protocol === "http:" ? [oidc.allowInsecureRequests] : [])],
    });
  }

  return {
    async start(provider, redirectUri) {
      const configuration = await discover(provider);
      checkBrowserAddress(provider, configuration, "authorization_endpoint");
      const checks = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        code_verifier: oidc.randomPKCECodeVerifier(),
      };
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: provider.scopes.join(" "),
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(checks.code_verifier),
        code_challenge_method: "S256",
      });
      return { ...checks, url: url.href };
    },

    async finish(provider, returned, { state, nonce, code_verifier }) {
      const configuration = await discover(provider);
      try {
        const tokens = await oidc.authorizationCodeGrant(configuration, returned, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: code_verifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        const idToken = tokens.id_token;
        if (claims === undefined || idToken === undefined) throw new Error("The provider returned no ID token.");
        checkIssued(claims, provider);
        const needsGroups = Object.keys(provider.roles).length > 0;
        const hasGroups = fieldOf(claims, provider.groups_claim) !== undefined;
        const isThin = claims["email"] === undefined || (needsGroups && !hasGroups);
        if (!isThin || configuration.serverMetadata().userinfo_endpoint === undefined) return { claims, idToken };
        const more = await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
        return { claims: mergeClaims(claims, more), idToken };
      } catch (error) {
        throw new ProviderFailed(codeOf(error), error, provider.client_secret);
      }
    },

    async signOutUrl(provider, returnTo, idToken) {
      const configuration = await discoverSoon(provider);
      const endpoint = configuration.serverMetadata().end_session_endpoint;
      if (endpoint === undefined) return null;
      checkBrowserAddress(provider, configuration, "end_session_endpoint");
      // Sent without a state, because the returning browser is no longer signed in, and nothing depends on it.
      const isTheirs = idToken !== null && issuerOf(idToken) === configuration.serverMetadata().issuer;
      const parameters = { post_logout_redirect_uri: returnTo, ...(isTheirs && { id_token_hint: idToken }) };
      return oidc.buildEndSessionUrl(configuration, parameters).href;
    },

    close: () => guarded.close(),
  };
}

/** A page of the console sends the browser there, and a URL with another scheme could be a script. */
function checkBrowserAddress(
  { issuer }: IdentityProvider,
  configuration: oidc.Configuration,
  name: "authorization_endpoint" | "end_session_endpoint",
): void {
  const address: unknown = configuration.serverMetadata()[name];
  const schemes = ["https:", new URL(issuer).protocol];
  if (typeof address !== "string" || !URL.canParse(address) || !schemes.includes(new URL(address).protocol))
    throw new ProviderFailed("provider_answer", new Error(`${name} is not an https URL`));
}

/** The issuer of an ID token, which was verified when it arrived. */
function issuerOf(idToken: string): unknown {
  const [, payload = ""] = idToken.split(".");
  return (JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as Claims)["iss"];
}

/** The library leaves two checks to its caller: a future `iat`, and `azp` if there is only one audience. */
function checkIssued({ iat, azp }: oidc.IDToken, { client_id }: IdentityProvider): void {
  if (iat > Date.now() / 1000 + AHEAD_SECONDS)
    throw Object.assign(new Error("iat of the ID token is in the future"), {
      code: "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
    });
  if (azp !== undefined && azp !== client_id)
    throw Object.assign(new Error("azp of the ID token names another client"), {
      code: "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
    });
}

function authenticationOf({ client_secret, client_auth }: IdentityProvider): oidc.ClientAuth {
  if (client_secret === undefined) return oidc.None();
  return client_auth === "post" ? oidc.ClientSecretPost(client_secret) : oidc.ClientSecretBasic(client_secret);
}

function codeOf(error: unknown): ProviderFailed["code"] {
  if (error instanceof oidc.AuthorizationResponseError) return "provider_refused";
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  // Not retried: a URL at which nothing exists returns the same in a minute.
  if (cause instanceof Response && [404, 410].includes(cause.status)) return "provider_answer";
  const isSilent = [error, cause].some((each) => each instanceof FetchFailed || each instanceof FetchRefused);
  return isSilent || NO_ANSWER.includes(String(code)) ? "provider_unavailable" : "provider_answer";
}
