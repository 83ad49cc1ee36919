import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { IdentityProvider } from "../../domain/accounts/identity-providers.ts";
import { SIGN_IN_SECONDS, SignInRefused, createProviderSignIn } from "../../services/accounts/provider-sign-in.ts";
import { networkOf } from "../../services/accounts/sign-in.ts";
import { createRateLimiter } from "../../services/rate-limiter.ts";
import { browserCookie, secretIn, sessionCookie } from "../auth/session-cookie.ts";
import type { HandlerDeps } from "../deps.ts";
import { baseUrl, clientAddress } from "../http/addresses.ts";
import { operationsOf, type ContentAnswer, type RequestContext, type Success } from "../http/operation.ts";
import { requestOf } from "../http/request-audit.ts";
import { named } from "../http/schemas.ts";
import { REFUSAL_STATUSES, consolePath, onwardPage, refusalPage, type PageCode } from "./sign-in-page.ts";

const PATH = "/console/session/providers";
/** Sign-ins that one network may start in the window, because a whole office may sign in within some minutes. */
const STARTS = { name: "provider-sign-in", points: 120, seconds: 60 };
const BROWSER_SECRET = /^[\w-]{43}$/;

const params = z.object({ provider_id: z.string().max(200).describe("A provider ID from `listSignInProviders`.") });
const MAX_RETURN_TO = 1000;
const PAGE = { content: { "text/html": null } } as const;
const FAILURES: Readonly<Record<number, Success>> = Object.fromEntries(
  REFUSAL_STATUSES.map((status) => [
    status,
    { ...PAGE, description: "A page that explains why the sign-in failed, with an error code." },
  ]),
);

const waysSchema = named("SignInProviders", {
  password: z.boolean().describe("Whether people can sign in with email address and password."),
  providers: z.array(
    z.object({
      provider_id: z.string(),
      name: z.string().describe("Label of the button."),
      url: z
        .string()
        .describe("Target of the button. `?return_to=/console/...` sets the page to open after signing in."),
    }),
  ),
});

const callbackOf = ({ config }: HandlerDeps, ctx: RequestContext, { id }: IdentityProvider): URL =>
  new URL(`${baseUrl(config, ctx)}${PATH}/${id}/callback`);

function refused(
  { logger }: HandlerDeps,
  ctx: RequestContext,
  code: PageCode,
  reason: string,
  provider?: IdentityProvider,
): ContentAnswer {
  const { requestId } = ctx.state;
  const line = { request_id: requestId, ...(provider && { provider: provider.id }), code, reason };
  logger.info(line, "sign-in by an identity provider rejected");
  return refusalPage(code, requestId);
}

const invalidPage = (ctx: RequestContext, { message }: Error, deps: HandlerDeps): ContentAnswer =>
  refused(deps, ctx, "address_invalid", message);

/** The response of a step, or the page that says why it failed. */
async function page(
  deps: HandlerDeps,
  ctx: RequestContext,
  provider: IdentityProvider,
  step: () => Promise<ContentAnswer>,
): Promise<ContentAnswer> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof SignInRefused)) throw error;
    return refused(deps, ctx, error.code, error.message, provider);
  }
}

const define = operationsOf({ tag: "Sessions", auth: "none" }, ({ db, config, secrets, credentials, oidc }) => ({
  byId: new Map(config.MILLRACE_OIDC_PROVIDERS.map((provider) => [provider.id, provider])),
  starts: createRateLimiter(db, STARTS),
  signIns: createProviderSignIn(db, oidc, secrets, (id) => credentials.forget(id)),
}));

/** `/console/session/providers`: sign-in with an identity provider (OpenID Connect). */
export const providerSignInOperations = [
  define({
    id: "listSignInProviders",
    route: `GET ${PATH}`,
    summary: "List ways to sign in",
    description: "Returns whether people can sign in with a password, and the identity providers of the installation.",
    success: {
      200: {
        description: "The ways to sign in.",
        schema: waysSchema,
        example: {
          password: true,
          providers: [{ provider_id: "example", name: "Example", url: `${PATH}/example` }],
        },
      },
    },
    async handler(_request, { config }) {
      const listed = config.MILLRACE_OIDC_PROVIDERS.map(({ id, name }) => ({
        provider_id: id,
        name,
        url: `${PATH}/${id}`,
      }));
      return { status: 200, body: { password: config.MILLRACE_PASSWORD_SIGN_IN, providers: listed } };
    },
  }),
  define({
    id: "startProviderSignIn",
    route: `GET ${PATH}/{provider_id}`,
    summary: "Start sign-in with an identity provider",
    description:
      "Redirects a browser to the identity provider (authorisation code flow with PKCE). The sign-in must finish within ten minutes in the same browser.",
    params,
    query: z.object({
      return_to: z
        .string()
        .max(MAX_RETURN_TO)
        .optional()
        .describe("Path of the console page to open after signing in. Default: the start page."),
    }),
    success: {
      302: {
        description: "Redirect to the identity provider.",
        headers: {
          Location: "URL of the provider's sign-in page.",
          "Set-Cookie": "Identifies the browser when it returns.",
        },
      },
    },
    failures: FAILURES,
    invalidPage,
    async handler({ params: { provider_id }, query, ctx, requestId }, deps) {
      const { byId, config, starts, signIns } = deps;
      const provider = byId.get(provider_id);
      if (!provider) return refusalPage("provider_unknown", requestId);
      const returnTo = consolePath(query.return_to ?? "/console/");
      if (returnTo === null) return refusalPage("return_path", requestId);
      const network = networkOf(clientAddress(ctx.req, config.MILLRACE_TRUSTED_PROXIES));
      if (!(await starts.tryTake(network)))
        return refusalPage("rate_limited", requestId, { "Retry-After": String(STARTS.seconds) });
      return page(deps, ctx, provider, async () => {
        const earlier = secretIn(config, ctx, "millrace_sign_in") ?? "";
        // One cookie for all sign-ins of a browser: sign-ins in two tabs do not end each other.
        const browser = BROWSER_SECRET.test(earlier) ? earlier : randomBytes(32).toString("base64url");
        const url = await signIns.start(provider, callbackOf(deps, ctx, provider).href, browser, returnTo);
        const headers = { Location: url, ...browserCookie(config, ctx, browser, SIGN_IN_SECONDS) };
        return { status: 302, type: "text/plain; charset=utf-8", content: "", headers };
      });
    },
  }),
  define({
    id: "finishProviderSignIn",
    route: `GET ${PATH}/{provider_id}/callback`,
    summary: "Finish sign-in with an identity provider",
    description:
      "Receives the browser back from the identity provider; register this URL there. Opens a session for the user who signed in, as `openSession` does.",
    params,
    looseQuery: true,
    query: z.object({
      state: z.string().optional().describe("The state that was sent to the provider."),
      code: z.string().optional().describe("The authorisation code that the provider issued."),
      error: z.string().optional().describe("The provider's error code if it refused."),
      iss: z.string().optional().describe("The provider's issuer identifier."),
    }),
    success: {
      200: {
        ...PAGE,
        description: "A page that continues to the console.",
        headers: { "Set-Cookie": "The session cookie.", Refresh: "URL of the console page to open." },
      },
    },
    failures: FAILURES,
    invalidPage,
    async handler({ params: { provider_id }, ctx, requestId }, deps) {
      const { byId, config, signIns } = deps;
      const provider = byId.get(provider_id);
      if (!provider) return refusalPage("provider_unknown", requestId);
      return page(deps, ctx, provider, async () => {
        // Programs that examine links before people open them send HEAD.
        if (ctx.method === "HEAD")
          throw new SignInRefused("address_invalid", new Error("HEAD does not sign in; use GET"));
        const returned = callbackOf(deps, ctx, provider);
        returned.search = ctx.search;
        const { secret, return_to } = await signIns.finish({
          provider,
          returned,
          browser: secretIn(config, ctx, "millrace_sign_in") ?? "",
          place: { ...requestOf(config, ctx), operation: "finishProviderSignIn" },
        });
        return onwardPage(return_to, sessionCookie(config, ctx, secret));
      });
    },
  }),
];
