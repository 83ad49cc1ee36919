import { z } from "zod";
import { roleAllows, PROJECT_ROLES, ROLES, type Principal } from "../../domain/accounts/principal.ts";
import { Problem, notFound } from "../../domain/errors.ts";
import { ProviderFailed } from "../../platform/oidc/oidc-client.ts";
import { noteRefusedSignIns, recordSignIn } from "../../services/accounts/record-sign-in.ts";
import { openIdToken, openSession, redeemSignInLink } from "../../services/accounts/sessions.ts";
import { findOrganisation, type Organisation } from "../../stores/accounts/organisations.ts";
import { endSession, listSessions, type EndedSession, type ListedSession } from "../../stores/accounts/sessions.ts";
import { endTokenSession } from "../../stores/accounts/oauth-tokens.ts";
import { findUser, type User } from "../../stores/accounts/users.ts";
import { requireSameOrigin, sessionCookie } from "../auth/session-cookie.ts";
import { baseUrl, clientAddress } from "../http/addresses.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf, type RequestContext } from "../http/operation.ts";
import { requestOf } from "../http/request-audit.ts";
import type { HandlerDeps } from "../deps.ts";
import { asDeclared, givenId, named, pathId } from "../http/schemas.ts";

const sessionSchema = named("Session", {
  session_id: z.uuid(),
  kind: z
    .enum(["console", "token"])
    .describe("`console`: a console session; `token`: a client that signed in at `/token` and renews its tokens."),
  user_id: z.uuid(),
  email: z.string(),
  current: z.boolean().describe("Whether this request uses the session."),
  user_agent: z.string().describe("The browser or client, as stated in its `User-Agent` header."),
  address: z.string().describe("IP address that opened the session."),
  created_at: z.iso.datetime(),
  last_seen_at: z.iso
    .datetime()
    .describe("Time of the last request, accurate to the minute. For tokens, the time of the last renewal."),
  expires_at: z.iso.datetime().describe("When the session expires if it is not used again."),
  provider_id: z
    .string()
    .nullable()
    .describe("Identity provider that the person signed in with; `null` for passwords, links and clients."),
});

function presentSession(session: ListedSession, current: string | undefined): z.infer<typeof sessionSchema> {
  return asDeclared(sessionSchema, { ...session, current: session.session_id === current });
}

const meSchema = named("Me", {
  type: z.enum(["user", "org_api_key"]),
  id: z.uuid().describe("ID of the user or API key."),
  role: z.enum(ROLES).describe("Role of the user or key; a secret key has the rights of an admin."),
  project_roles: z
    .array(z.object({ project_id: z.uuid(), role: z.enum(PROJECT_ROLES) }))
    .describe("The user's roles in projects."),
  user: z.object({ user_id: z.uuid(), email: z.string() }).nullable().describe("The user; `null` for an API key."),
  organisation: z.object({ org_id: z.uuid(), name: z.string() }),
  session_id: z.uuid().nullable().describe("The console session of the user; `null` without one."),
});

function presentMe(
  { type, id, role, grants = {}, session_id }: Principal,
  user: User | null,
  organisation: Organisation,
): z.infer<typeof meSchema> {
  const project_roles = Object.entries(grants).map(([project_id, granted]) => ({ project_id, role: granted }));
  return asDeclared(meSchema, { type, id, role, project_roles, user, organisation, session_id: session_id ?? null });
}

const signInBody = z
  .union([
    z.strictObject({
      email: z.string().min(1).max(320),
      password: z.string().min(1).max(1000),
      org_id: z
        .uuid()
        .optional()
        .describe("Organisation to sign in to. Needed if the email address has users in several."),
    }),
    z.strictObject({
      link: z.string().max(200).describe("Secret from a one-time sign-in link, instead of email address and password."),
    }),
  ])
  .meta({ id: "SignIn" });

const signedOutSchema = named("SignedOut", {
  provider_sign_out_url: z
    .url()
    .describe("URL that signs the browser out at the identity provider and returns to the console."),
});
const TAKEN_BACK = { "Set-Cookie": "Clears the cookie." };

const EXAMPLE_ID = "0197f0a0-0000-7000-8000-000000000000";
const EXAMPLE = {
  type: "user",
  id: EXAMPLE_ID,
  role: "admin",
  project_roles: [],
  user: { user_id: EXAMPLE_ID, email: "ada@example.com" },
  organisation: { org_id: EXAMPLE_ID, name: "Analytical Engines" },
  session_id: EXAMPLE_ID,
};

async function me({ db }: HandlerDeps, principal: Principal): Promise<z.infer<typeof meSchema>> {
  const [organisation, user] = await Promise.all([
    db.org(principal.org_id, (connection) => findOrganisation(connection, principal.org_id)),
    principal.type === "user" ? db.org(principal.org_id, (connection) => findUser(connection, principal.id)) : null,
  ]);
  if (!organisation) throw notFound("organisation");
  return presentMe(principal, user, organisation);
}

/** The URL to send a browser to when its session has ended: the provider's sign-out, if the settings end that session too. */
async function onward(
  { config, secrets, oidc, logger }: HandlerDeps,
  ctx: RequestContext,
  sessionId: string,
  ended: EndedSession,
): Promise<string | null> {
  const provider = config.MILLRACE_OIDC_PROVIDERS.find(({ id }) => id === ended.provider_id);
  if (!provider?.end_provider_session) return null;
  const idToken = openIdToken(secrets, sessionId, ended.id_token);
  return oidc.signOutUrl(provider, `${baseUrl(config, ctx)}/console/`, idToken).catch((error: unknown) => {
    if (!(error instanceof ProviderFailed)) throw error;
    const line = {
      request_id: ctx.state.requestId,
      provider: provider.id,
      code: error.code,
      reason: error.message,
    };
    logger.warn(line, "signed out locally; the identity provider session is still active");
    return null;
  });
}

const define = operationsOf({ tag: "Sessions", auth: "secret", role: "viewer" }, ({ db, logger }) => ({
  noteRefused: noteRefusedSignIns(db, logger),
}));

/** `/console/session`, `/v2/sessions` and `/v2/me`: users signed in to the console. */
export const sessionOperations = [
  define({
    id: "openSession",
    route: "POST /console/session",
    summary: "Sign in to the console",
    description:
      "Opens a session. Its secret is in a cookie that scripts cannot read. A session ends after 12 hours without a request, or after 7 days. `/v2` accepts it instead of an Authorization header; a request with both is rejected. Scripts sign in at `/token`.",
    auth: "none",
    body: signInBody,
    examples: { password: { email: "ada@example.com", password: "a long passphrase" } },
    problems: ["unauthorized", "forbidden", "validation_error", "rate_limited", "service_unavailable"],
    success: {
      201: {
        description: "The signed-in user.",
        schema: meSchema,
        headers: { "Set-Cookie": "The session cookie." },
        example: EXAMPLE,
      },
    },
    async handler({ body, ctx }, deps) {
      const { config, db, signIn, credentials } = deps;
      // Otherwise a page of another site could sign its visitor in as another user.
      requireSameOrigin(config, ctx, { unknownIsFine: true });
      if ("password" in body && !config.MILLRACE_PASSWORD_SIGN_IN)
        throw new Problem("forbidden", "Password sign-in is disabled. Use an identity provider.");
      const address = clientAddress(ctx.req, config.MILLRACE_TRUSTED_PROXIES);
      const place = { ...requestOf(config, ctx), operation: "openSession" };
      const who =
        "link" in body
          ? await redeemSignInLink(db, body.link)
          : await signIn.check({ email: body.email, password: body.password, address, orgId: body.org_id });
      if (!who) {
        if ("email" in body) deps.noteRefused(place, body.email, body.org_id);
        throw refusal("link" in body);
      }
      const opened = await openSession(db, who, { user_agent: ctx.get("User-Agent"), address }, (connection, id) =>
        recordSignIn(connection, place, who, id),
      );
      const principal = await credentials.findSession(opened.secret);
      if (!principal) throw refusal("link" in body);
      return { status: 201, body: await me(deps, principal), headers: sessionCookie(config, ctx, opened.secret) };
    },
  }),
  define({
    id: "closeSession",
    route: "DELETE /console/session",
    summary: "Sign out of the console",
    description:
      "Ends the session and clears its cookie. If an identity provider opened the session and its `end_provider_session` is set, the response contains the URL at which the browser ends the session there.",
    success: {
      200: {
        description: "The session has ended. The session at the identity provider has not ended yet.",
        schema: signedOutSchema,
        headers: TAKEN_BACK,
        example: { provider_sign_out_url: "https://id.example.com/logout?client_id=millrace" },
      },
      204: { description: "The session has ended.", headers: TAKEN_BACK },
    },
    async handler({ principal, ctx, audit }, deps) {
      const { config, db, credentials } = deps;
      const { org_id, session_id } = principal;
      const headers = sessionCookie(config, ctx, null);
      if (session_id === undefined) return { status: 204, headers };
      const ended = await db.orgTransaction(org_id, async (connection) => {
        const ended = await endSession(connection, session_id, null);
        const target = { type: "session", id: session_id };
        // Another request may have ended it meanwhile.
        await audit(connection, { target, ...(ended && { before: auditedSession(ended) }) });
        return ended;
      });
      credentials.forget(session_id);
      // The session has ended here, whatever the provider does.
      const url = ended && (await onward(deps, ctx, session_id, ended));
      return url === null ? { status: 204, headers } : { status: 200, body: { provider_sign_out_url: url }, headers };
    },
  }),
  define({
    id: "getMe",
    route: "GET /v2/me",
    summary: "Get the authenticated user or key",
    description: "Returns the user or key of the credential, with its role and organisation.",
    success: {
      200: { description: "The user or key, its role and its organisation.", schema: meSchema, example: EXAMPLE },
    },
    async handler({ principal }, deps) {
      return { status: 200, body: await me(deps, principal) };
    },
  }),
  define({
    id: "listSessions",
    route: "GET /v2/sessions",
    summary: "List sessions",
    description:
      "Lists console sessions and sessions of clients that signed in at `/token`. Users see their own; admins see all sessions of the organisation.",
    query: listQuery.extend({ user_id: givenId.optional().describe("Only sessions of this user.") }),
    success: { 200: { description: "A page of sessions.", schema: pageOf(sessionSchema) } },
    async handler({ query, principal }, { db }) {
      const { org_id, id, session_id: current } = principal;
      const { user_id = null } = query;
      if (!isAdmin(principal) && user_id !== null && user_id !== id)
        throw new Problem("forbidden", "Only admins can see the sessions of other users.");
      const whose = isAdmin(principal) ? user_id : id;
      return listPage("sessions", org_id, query, {
        filters: { user_id: whose },
        fetch: (keyset) => db.org(org_id, (connection) => listSessions(connection, whose, keyset)),
        idOf: (session) => session.session_id,
        present: (session) => presentSession(session, current),
      });
    },
  }),
  define({
    id: "endSession",
    route: "DELETE /v2/sessions/{session_id}",
    summary: "End a session",
    description:
      "Ends a session. Users can end their own; admins can end any session of the organisation. Requests that use it are rejected within five seconds; a client's tokens end with it.",
    params: z.object({ session_id: pathId("session") }),
    success: { 204: { description: "The session has ended." } },
    async handler({ params: { session_id }, principal, audit }, { db, credentials }) {
      const whose = isAdmin(principal) ? null : principal.id;
      let ended = session_id;
      await db.orgTransaction(principal.org_id, async (connection) => {
        const ofConsole = await endSession(connection, session_id, whose);
        const user_id = ofConsole?.user_id ?? (await endTokenSession(connection, session_id, whose));
        if (user_id === null) throw notFound("session");
        await audit(connection, {
          target: { type: "session", id: session_id },
          before: { kind: ofConsole === null ? "token" : "console", user_id },
        });
        ended = ofConsole === null ? user_id : session_id.toLowerCase();
      });
      credentials.forget(ended);
    },
  }),
];

/** Omits the session's ID token. */
const auditedSession = ({ user_id, provider_id }: EndedSession) => ({ kind: "console", user_id, provider_id });

const isAdmin = ({ role }: Principal): boolean => roleAllows(role, "admin");

function refusal(byLink: boolean): Problem {
  const detail = byLink
    ? "The link was already used or has expired. Sign in with your password, or request a new link."
    : "The e-mail address or the password is wrong.";
  return new Problem("unauthorized", detail, { headers: { "WWW-Authenticate": 'Bearer realm="millrace"' } });
}
