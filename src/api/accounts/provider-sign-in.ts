import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { IdentityProvider } from "../../domain/accounts/identity-providers.ts";
import { SIGN_IN_SECONDS, SignInRefused, createProviderSignIn } from "../../services/accounts/provider-sign-in.ts";
import { networkOf } from "../../services/accounts/sign-in.ts";
import { createRateLimiter } from "../../services/rate-limiter.ts";
import { browserCookie, browserSecret, sessionCookie } from "../auth/session-cookie.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { baseUrl } from "../http/base-url.ts";
import { clientAddress } from "../http/client-address.ts";
import { defineOperation } from "../http/operation.ts";
import type { ContentAnswer, Operation, RequestContext, Success } from "../http/operation.ts";
import { requestOf } from "../http/request-audit.ts";
import { REFUSAL_STATUSES, consolePath, onwardPage, refusalPage } from "./sign-in-page.ts";

const PATH = "/console/session/providers";
/** Sign-ins that one network begins: an office comes to work within some minutes. */
const STARTS = { name: "provider-sign-in", points: 120, seconds: 60 };
const BROWSER_SECRET = /^[\w-]{43}$/;

const params = z.object({ provider_id: z.string().max(200).describe("One of `listSignInProviders`.") });
const MAX_RETURN_TO = 1000;
const PAGE = { content: { "text/html": null } } as const;
const FAILURES: Readonly<Record<number, Success>> = Object.fromEntries(
  REFUSAL_STATUSES.map((status) => [
    status,
    { ...PAGE, description: "A page that says why nobody is signed in, with a code." },
  ]),
);

const waysSchema = z
  .object({
    password: z.boolean().describe("Whether people may sign in by e-mail address and password."),
    providers: z.array(
      z.object({
        provider_id: z.string(),
        name: z.string().describe("For the button."),
        url: z.string().describe("Where the button leads; `?return_to=/console/...` names the page to go on to."),
      }),
    ),
  })
  .meta({ id: "SignInProviders" });

/** `/console/session/providers`: people who sign in by an identity provider (OpenID Connect). */
export function createProviderSignInOperations(
  { db, config, secrets, logger }: ApiDeps,
  { credentials, oidc }: ApiServices,
): Operation[] {
  const providers = config.MILLRACE_OIDC_PROVIDERS;
  const byId = new Map(providers.map((provider) => [provider.id, provider]));
  const starts = createRateLimiter(db, STARTS);
  const signIns = createProviderSignIn(db, oidc, secrets, (id) => credentials.forget(id));

  const callbackOf = (ctx: RequestContext, { id }: IdentityProvider): URL =>
    new URL(`${baseUrl(config, ctx)}${PATH}/${id}/callback`);

  /** The answer of a step, or the page that says why it failed. */
  async function page(
    ctx: RequestContext,
    provider: IdentityProvider,
    step: () => Promise<ContentAnswer>,
  ): Promise<ContentAnswer> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof SignInRefused)) throw error;
      const { requestId } = ctx.state;
      const line = { request_id: requestId, provider: provider.id, code: error.code, reason: error.message };
      logger.info(line, "sign-in by an identity provider refused");
      return refusalPage(error.code, requestId);
    }
  }

  return [
    defineOperation({
      id: "listSignInProviders",
      method: "GET",
      path: PATH,
      tag: "Sessions",
      summary: "How people may sign in",
      description: "By password or not, and the identity providers that the installation is set up with.",
      auth: "none",
      success: {
        200: {
          description: "What the sign-in page offers.",
          schema: waysSchema,
          example: {
            password: true,
            providers: [{ provider_id: "example", name: "Example", url: `${PATH}/example` }],
          },
        },
      },
      async handler() {
        const listed = providers.map(({ id, name }) => ({ provider_id: id, name, url: `${PATH}/${id}` }));
        return { status: 200, body: { password: config.MILLRACE_PASSWORD_SIGN_IN, providers: listed } };
      },
    }),
    defineOperation({
      id: "startProviderSignIn",
      method: "GET",
      path: `${PATH}/{provider_id}`,
      tag: "Sessions",
      summary: "Sign in by an identity provider",
      description:
        "For browsers: leads to the provider, by the authorisation code flow with PKCE. The sign-in has ten minutes, and only this browser can finish it.",
      auth: "none",
      params,
      query: z.object({
        return_to: z
          .string()
          .max(MAX_RETURN_TO)
          .optional()
          .describe("A path of the console to go on to; its start page without."),
      }),
      success: {
        302: {
          description: "To the provider.",
          headers: { Location: "The provider's page.", "Set-Cookie": "Identifies the browser when it returns." },
        },
      },
      failures: FAILURES,
      async handler({ params: { provider_id }, query, ctx, requestId }) {
        const provider = byId.get(provider_id);
        if (!provider) return refusalPage("provider_unknown", requestId);
        const returnTo = consolePath(query.return_to ?? "/console/");
        if (returnTo === null) return refusalPage("return_path", requestId);
        const network = networkOf(clientAddress(ctx.req, config.MILLRACE_TRUSTED_PROXIES));
        if (!(await starts.tryTake(network)))
          return refusalPage("rate_limited", requestId, { "Retry-After": String(STARTS.seconds) });
        return page(ctx, provider, async () => {
          const earlier = browserSecret(config, ctx) ?? "";
          // One cookie for all sign-ins of a browser: sign-ins in two tabs do not end each other.
          const browser = BROWSER_SECRET.test(earlier) ? earlier : randomBytes(32).toString("base64url");
          const url = await signIns.start(provider, callbackOf(ctx, provider).href, browser, returnTo);
          const headers = { Location: url, ...browserCookie(config, ctx, browser, SIGN_IN_SECONDS) };
          return { status: 302, type: "text/plain; charset=utf-8", content: "", headers };
        });
      },
    }),
    defineOperation({
      id: "finishProviderSignIn",
      method: "GET",
      path: `${PATH}/{provider_id}/callback`,
      tag: "Sessions",
      summary: "Come back from an identity provider",
      description:
        "The provider sends the browser back here: register this address with it. Opens a session, as `openSession` does, for the user of the person who has signed in there.",
      auth: "none",
      params,
      looseQuery: true,
      query: z.object({
        state: z.string().optional().describe("As the provider received it."),
        code: z.string().optional().describe("What the provider has issued."),
        error: z.string().optional().describe("Why it has not."),
        iss: z.string().optional().describe("Who it is."),
      }),
      success: {
        200: {
          ...PAGE,
          description: "A page that goes on to the console.",
          headers: { "Set-Cookie": "The session.", Refresh: "To the page of the console that was asked for." },
        },
      },
      failures: FAILURES,
      async handler({ params: { provider_id }, ctx, requestId }) {
        const provider = byId.get(provider_id);
        if (!provider) return refusalPage("provider_unknown", requestId);
        return page(ctx, provider, async () => {
          const returned = callbackOf(ctx, provider);
          returned.search = ctx.search;
          const { secret, return_to } = await signIns.finish({
            provider,
            returned,
            browser: browserSecret(config, ctx) ?? "",
            place: { ...requestOf(config, ctx), operation: "finishProviderSignIn" },
          });
          return onwardPage(return_to, sessionCookie(config, ctx, secret));
        });
      },
    }),
  ];
}
