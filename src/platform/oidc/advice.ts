import { createMaskValues } from "../logging/mask-values.ts";

/** Advice for operators, by the error code of a provider (OAuth 2.0) or of the library. */
const ADVICE: Readonly<Record<string, string>> = {
  access_denied: "the user declined, or is not assigned to the application at the provider",
  invalid_client: "client_id, client_secret (the value, not its ID; it may have expired) or client_auth",
  invalid_grant: "the callback URL (MILLRACE_PUBLIC_URL), or a code that was already used",
  invalid_scope: "scopes: the provider does not allow the application to use one of them",
  unauthorized_client: "the application must have the authorisation code grant at the provider",
  unsupported_response_type: "the application must have the authorisation code grant at the provider",
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: "the clocks of the provider and of this machine",
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED:
    "issuer: write it exactly as the provider does, with or without a trailing slash",
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: "issuer and client_id: the ID token has another issuer or audience",
  OAUTH_KEY_SELECTION_FAILED:
    "the provider's keys (jwks_uri): none matches the ID token; new keys take effect after a minute",
  OAUTH_UNSUPPORTED_OPERATION:
    "the provider must sign ID tokens with RS256, ES256, EdDSA or another public-key algorithm",
  "OAUTH_WWW_AUTHENTICATE_CHALLENGE bearer":
    "the provider's userinfo endpoint rejects its own token: put email and groups into the ID token",
  OAUTH_JWT_USERINFO_EXPECTED: "the provider signs its userinfo responses: it must return plain JSON",
  OAUTH_RESPONSE_IS_NOT_CONFORM:
    "the provider's log, and issuer: /.well-known/openid-configuration must exist below it",
};

/** Most characters that are searched for the secret, and most characters of the line. */
const MAX_CHARS = 2000;
const MAX_REASON = 500;

/**
 * One line that describes an error, without tokens and the client's secret: the library's errors contain whole responses, and a provider
 * may quote what it was sent.
 */
export function reasonOf(error: unknown, clientSecret?: string): string {
  const parts = [];
  const advice = [];
  for (let each = error; each instanceof Error && parts.length < 3; each = each.cause) {
    const { code, error: name, error_description: said } = each as unknown as Readonly<Record<string, unknown>>;
    parts.push([code, name, each.message, said, more(each)].filter((part) => typeof part === "string").join(" "));
    advice.push(ADVICE[String(name)] ?? ADVICE[keyOf(code, each)]);
  }
  const text = parts.join(": ");
  const mask = createMaskValues(clientSecret === undefined ? [] : [clientSecret]);
  const masked = mask(text.slice(0, MAX_CHARS), text.length > MAX_CHARS);
  let reason = masked.slice(0, MAX_REASON);
  while (reason.endsWith(".")) reason = reason.slice(0, -1);
  const found = advice.find((each) => each !== undefined);
  return found === undefined ? reason : `${reason}. Check: ${found}`;
}

/**
 * A `bearer` challenge comes from userinfo and concerns the token; any other challenge means that the provider refused the client's
 * credentials.
 */
function keyOf(code: unknown, { cause }: Error): string {
  if (code !== "OAUTH_WWW_AUTHENTICATE_CHALLENGE") return String(code);
  const [challenge] = Array.isArray(cause) ? (cause as { scheme?: unknown }[]) : [];
  return challenge?.scheme === "bearer" ? `${code} bearer` : "invalid_client";
}

/** Details that no message contains: the status of a response, and the issuer that the provider names. */
function more({ cause }: Error): string | undefined {
  if (cause instanceof Response) return `(status ${cause.status})`;
  const { attribute, body } = (cause ?? {}) as { attribute?: unknown; body?: { issuer?: unknown } };
  return attribute === "issuer" ? `(the provider's issuer is ${JSON.stringify(body?.issuer)})` : undefined;
}
