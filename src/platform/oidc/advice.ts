import { createMaskValues } from "../logging/mask-values.ts";

/** What an operator looks at, by the code of a provider (OAuth 2.0) or of the library. */
const ADVICE: Readonly<Record<string, string>> = {
  access_denied: "the person has declined, or is not assigned to the application at the provider",
  invalid_client: "client_id, client_secret (the value, not its id; it may have run out) or client_auth",
  invalid_grant: "the address of the callback (MILLRACE_PUBLIC_URL), or a code that was used before",
  invalid_scope: "scopes: the provider does not allow the application one of them",
  unauthorized_client: "the application needs the authorisation code grant at the provider",
  unsupported_response_type: "the application needs the authorisation code grant at the provider",
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: "the clocks of the provider and of this machine",
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: "issuer: write it as the provider does, with or without a slash at its end",
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: "issuer and client_id: the ID token is by or for another one",
  OAUTH_KEY_SELECTION_FAILED: "the provider's keys (jwks_uri): none is the ID token's; new keys count after a minute",
  OAUTH_UNSUPPORTED_OPERATION: "the provider has to sign ID tokens by RS256, ES256, EdDSA or another public key",
  "OAUTH_WWW_AUTHENTICATE_CHALLENGE bearer":
    "the provider's userinfo refuses its own token: put email and groups into the ID token",
  OAUTH_JWT_USERINFO_EXPECTED: "the provider signs what userinfo answers: it has to answer plain JSON",
  OAUTH_RESPONSE_IS_NOT_CONFORM: "the provider's log; issuer, which has /.well-known/openid-configuration below it",
};

/** Characters that are searched for the secret, and those of the line. */
const MAX_CHARS = 2000;
const MAX_REASON = 500;

/**
 * One line of what went wrong, without tokens and the client's secret: the library's errors have whole answers among
 * their members, and a provider may quote what it was sent.
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
  return found === undefined ? reason : `${reason}. Look at: ${found}`;
}

/** A provider that refuses the client's credentials by a header asks for others, as userinfo does for a token. */
function keyOf(code: unknown, { cause }: Error): string {
  if (code !== "OAUTH_WWW_AUTHENTICATE_CHALLENGE") return String(code);
  const [challenge] = Array.isArray(cause) ? (cause as { scheme?: unknown }[]) : [];
  return challenge?.scheme === "bearer" ? `${code} bearer` : "invalid_client";
}

/** What is in none of the messages: the status of an answer, and what the provider calls itself. */
function more({ cause }: Error): string | undefined {
  if (cause instanceof Response) return `(status ${cause.status})`;
  const { attribute, body } = (cause ?? {}) as { attribute?: unknown; body?: { issuer?: unknown } };
  return attribute === "issuer" ? `(it says ${JSON.stringify(body?.issuer)})` : undefined;
}
