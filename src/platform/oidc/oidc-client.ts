import { setTimeout } from "node:timers/promises";
import * as oidc from "openid-client";
import { fieldOf } from "../../domain/json.ts";
import type { IdentityProvider } from "../../domain/accounts/identity-providers.ts";
import { fetchAdapter } from "../fetch/fetch-adapter.ts";
import { FetchFailed, FetchRefused } from "../fetch/guarded-fetch-errors.ts";
import { createOwnFetch } from "../fetch/own-fetch.ts";
import { reasonOf } from "./advice.ts";

const TIMEOUT_SECONDS = 10;
/** How long a person who signs out waits for a provider's description. */
const SIGN_OUT_SECONDS = 2;
const MAX_BYTES = 1024 * 1024;
/** How long a provider's own description of itself is used. Its keys are renewed by their ids. */
const DISCOVERED_MS = 3_600_000;
const NO_ANSWER: readonly string[] = ["OAUTH_TIMEOUT", "OAUTH_ABORT", "OAUTH_RESPONSE_IS_NOT_CONFORM"];

/** What a sign-in needs when the browser comes back. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly code_verifier: string;
}

export interface StartedSignIn extends SignInChecks {
  /** Where the browser goes. */
  readonly url: string;
}

export type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

export interface FinishedSignIn {
  /** Who has signed in. */
  readonly claims: Claims;
  readonly idToken: string;
}

/**
 * Why a provider has identified nobody. The message is for the log only, because parts of it come from the provider.
 */
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
  /** The person who has signed in, from the address that the browser came back to. */
  finish(provider: IdentityProvider, returned: URL, checks: SignInChecks): Promise<FinishedSignIn>;
  /**
   * Where a browser ends its session at the provider, and comes back from; null where the provider has no such address. An ID token of
   * another issuer, which the provider's settings had before, is not sent.
   */
  signOutUrl(provider: IdentityProvider, returnTo: string, idToken: string | null): Promise<string | null>;
  close(): Promise<void>;
}

/** Their addresses are settings, so they may be private. Nothing is asked of a provider before somebody signs in. */
export function createOidcClient(allow: readonly string[], providers: readonly IdentityProvider[]): OidcClient {
  const guarded = createOwnFetch(
    allow,
    providers.map(({ issuer }) => issuer),
  );
  const fetch = fetchAdapter(guarded, { limits: { responseBytes: MAX_BYTES } });
  const known = new Map<string, { readonly found: oidc.Configuration; readonly until: number }>();
  const asking = new Map<string, Promise<oidc.Configuration>>();

  async function discover(provider: IdentityProvider): Promise<oidc.Configuration> {
    const { id } = provider;
    const earlier = known.get(id);
    if (earlier && earlier.until > Date.now()) return earlier.found;
    const asked = asking.get(id) ?? ask(provider).finally(() => asking.delete(id));
    asking.set(id, asked);
    try {
      return await asked;
    } catch (error) {
      // The previous answer is better than none.
      if (earlier) return earlier.found;
      throw new ProviderFailed(codeOf(error), error);
    }
  }

  /** For a person who does not need the provider: uses the previous answer if the provider does not answer at once. */
  async function discoverSoon(provider: IdentityProvider): Promise<oidc.Configuration> {
    const over = new AbortController();
    const late = setTimeout(SIGN_OUT_SECONDS * 1000, known.get(provider.id)?.found, { signal: over.signal });
    late.catch(() => undefined);
    const found = await Promise.race([discover(provider), late]).finally(() => over.abort());
    if (found !== undefined) return found;
    throw new ProviderFailed("provider_unavailable", new Error(`no answer within ${SIGN_OUT_SECONDS} seconds`));
  }

  async function ask(provider: IdentityProvider): Promise<oidc.Configuration> {
    const server = new URL(provider.issuer);
    const found = await oidc.discovery(server, provider.client_id, {}, authenticationOf(provider), {
      [oidc.customFetch]: fetch as oidc.CustomFetch,
      timeout: TIMEOUT_SECONDS,
      // The signature of an ID token is checked even though it comes from the provider itself.
      execute: [oidc.enableNonRepudiationChecks, ...(server.protocol === "http:" ? [oidc.allowInsecureRequests] : [])],
    });
    known.set(provider.id, { found, until: Date.now() + DISCOVERED_MS });
    return found;
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
        if (claims === undefined || idToken === undefined) throw new Error("There is no ID token.");
        const needsGroups = Object.keys(provider.roles).length > 0;
        const hasGroups = fieldOf(claims, provider.groups_claim) !== undefined;
        const isThin = claims["email"] === undefined || (needsGroups && !hasGroups);
        if (!isThin || configuration.serverMetadata().userinfo_endpoint === undefined) return { claims, idToken };
        const more = await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
        return { claims: merged(claims, more), idToken };
      } catch (error) {
        throw new ProviderFailed(codeOf(error), error, provider.client_secret);
      }
    },

    async signOutUrl(provider, returnTo, idToken) {
      const configuration = await discoverSoon(provider);
      const endpoint = configuration.serverMetadata().end_session_endpoint;
      if (endpoint === undefined) return null;
      checkBrowserAddress(provider, configuration, "end_session_endpoint");
      // Without a state: the returning browser is no longer signed in, and nothing depends on it.
      const isTheirs = idToken !== null && issuerOf(idToken) === configuration.serverMetadata().issuer;
      const parameters = { post_logout_redirect_uri: returnTo, ...(isTheirs && { id_token_hint: idToken }) };
      return oidc.buildEndSessionUrl(configuration, parameters).href;
    },

    close: () => guarded.close(),
  };
}

/** A browser goes there from a page of the console: an address of another scheme could be a script. */
function checkBrowserAddress(
  { issuer }: IdentityProvider,
  configuration: oidc.Configuration,
  name: "authorization_endpoint" | "end_session_endpoint",
): void {
  const address: unknown = configuration.serverMetadata()[name];
  const schemes = ["https:", new URL(issuer).protocol];
  if (typeof address !== "string" || !URL.canParse(address) || !schemes.includes(new URL(address).protocol))
    throw new ProviderFailed("provider_answer", new Error(`${name} is no https address`));
}

/** By whom an ID token is, which was checked when it came. */
function issuerOf(idToken: string): unknown {
  const [, payload = ""] = idToken.split(".");
  return (JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as Claims)["iss"];
}

/** Signed claims take precedence. `email_verified` refers to the address beside it. */
function merged(claims: Claims, more: Claims): Claims {
  const both = { ...more, ...claims };
  if (claims["email"] === undefined || claims["email"] === more["email"]) return both;
  return { ...both, email_verified: claims["email_verified"] };
}

function authenticationOf({ client_secret, client_auth }: IdentityProvider): oidc.ClientAuth {
  if (client_secret === undefined) return oidc.None();
  return client_auth === "post" ? oidc.ClientSecretPost(client_secret) : oidc.ClientSecretBasic(client_secret);
}

function codeOf(error: unknown): ProviderFailed["code"] {
  if (error instanceof oidc.AuthorizationResponseError) return "provider_refused";
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  // An address at which there is nothing answers the same in a minute.
  if (cause instanceof Response && [404, 410].includes(cause.status)) return "provider_answer";
  const isSilent = [error, cause].some((each) => each instanceof FetchFailed || each instanceof FetchRefused);
  return isSilent || NO_ANSWER.includes(String(code)) ? "provider_unavailable" : "provider_answer";
}
