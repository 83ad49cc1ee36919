import { z } from "zod";
import { isUuid } from "../../domain/uuid.ts";
import { clientAddress } from "../http/addresses.ts";
import { operationsOf, type JsonAnswer } from "../http/operation.ts";
import { requestOf } from "../http/request-audit.ts";
import { readForm } from "../http/read-json.ts";
import { named } from "../http/schemas.ts";
import { noteRefusedSignIns, recordSignIn } from "../../services/accounts/record-sign-in.ts";
import { createTokenService, type TokenPair } from "../../services/accounts/tokens.ts";

const MAX_FORM_BYTES = 64 * 1024;
/** Far more fields than the grants have, because a hostile body can have tens of thousands. */
const MAX_PARAMETERS = 50;

const form = named("TokenRequest", {
  grant_type: z.enum(["password", "refresh_token"]),
  username: z.string().optional().describe("The user's email address. For `grant_type=password`."),
  password: z.string().optional(),
  org_id: z
    .string()
    .optional()
    .describe("Organisation, if the email address has users in several. Default: the one with the newest password."),
  refresh_token: z.string().optional().describe("For `grant_type=refresh_token`. Each refresh token can be used once."),
  scope: z.string().optional().describe("Ignored; there are no scopes."),
});

const tokenSchema = named("Token", {
  access_token: z.string(),
  token_type: z.literal("bearer"),
  expires_in: z.int().describe("Lifetime of the access token in seconds."),
  refresh_token: z.string(),
  scope: z.string(),
});

const errorSchema = named("TokenError", {
  error: z.enum(["invalid_request", "invalid_grant", "unsupported_grant_type"]),
  error_description: z.string(),
});

const define = operationsOf({ tag: "Authentication", auth: "none" }, ({ db, logger, credentials }) => ({
  noteRefused: noteRefusedSignIns(db, logger),
  tokens: createTokenService(db, (id) => credentials.forget(id)),
}));

/** `/token`: the OAuth 2.0 password flow. */
export const tokenOperations = [
  define({
    id: "createToken",
    route: "POST /token",
    summary: "Get or renew an access token",
    description:
      "Returns an access token for an email address and password, or for a refresh token (RFC 6749 sections 4.3 and 6). Access tokens are valid for an hour, refresh tokens for 30 days.",
    form,
    problems: ["rate_limited", "payload_too_large", "unsupported_media_type"],
    success: { 200: { description: "The tokens.", schema: tokenSchema } },
    failures: { 400: { description: "An OAuth error (RFC 6749 section 5.2).", schema: errorSchema } },
    async handler({ ctx }, { config, signIn, noteRefused, tokens }) {
      const parameters = await readForm(ctx.req, MAX_FORM_BYTES);
      if (!parameters) return refusal("invalid_request", "The form is not UTF-8.");
      if (parameters.size > MAX_PARAMETERS)
        return refusal("invalid_request", `The request can have at most ${MAX_PARAMETERS} parameters.`);
      if (new Set(parameters.keys()).size < parameters.size)
        return refusal("invalid_request", "A parameter was sent more than once.");
      const given = (name: string): string | undefined => parameters.get(name) ?? undefined;
      const grant = given("grant_type");
      const address = clientAddress(ctx.req, config.MILLRACE_TRUSTED_PROXIES);
      const client = { user_agent: ctx.get("User-Agent"), address };
      if (grant === "password" && !config.MILLRACE_PASSWORD_SIGN_IN)
        return refusal("unsupported_grant_type", "Password sign-in is disabled.");
      if (grant === "password") {
        const [username, password] = [given("username"), given("password")];
        if (!username || !password) return refusal("invalid_request", "username and password are required.");
        const orgId = given("org_id");
        if (orgId !== undefined && !isUuid(orgId)) return refusal("invalid_request", "org_id must be a UUID.");
        const user = await signIn.check({ email: username, password, address, orgId });
        const place = { ...requestOf(config, ctx), operation: "createToken" };
        if (user === null) noteRefused(place, username, orgId);
        return answer(
          user && (await tokens.issue(user, client, (connection) => recordSignIn(connection, place, user, null))),
        );
      }
      if (grant === "refresh_token") {
        const refreshToken = given("refresh_token");
        if (!refreshToken) return refusal("invalid_request", "refresh_token is required.");
        return answer(await tokens.refresh(refreshToken, client));
      }
      if (!grant) return refusal("invalid_request", "grant_type is required.");
      return refusal("unsupported_grant_type", "grant_type must be password or refresh_token.");
    },
  }),
];

function answer(pair: TokenPair | null): JsonAnswer {
  if (!pair) return refusal("invalid_grant", "The user name, the password or the token is not valid.");
  return { status: 200, body: { ...pair, token_type: "bearer", scope: "" }, headers: { Pragma: "no-cache" } };
}

function refusal(error: z.infer<typeof errorSchema>["error"], error_description: string): JsonAnswer {
  return { status: 400, body: { error, error_description } };
}
