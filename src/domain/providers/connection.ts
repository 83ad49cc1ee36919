import type { Json, JsonObject } from "../json.ts";

/** How a connection authenticates. */
export const CONNECTION_SCHEMES = [
  "none",
  "api_key",
  "api_keys",
  "basic",
  "bearer",
  "oauth2_client_credentials",
] as const;
export type ConnectionScheme = (typeof CONNECTION_SCHEMES)[number];

/** `error`: the service rejected the credential, which is still used. `unverified`: not yet checked. `disabled`: not used. */
export const CONNECTION_STATUSES = ["active", "error", "unverified", "disabled"] as const;
export type ConnectionStatus = (typeof CONNECTION_STATUSES)[number];

/** A credential by its scheme's `fields`, with defaults filled in. */
export type Credential = JsonObject;

/** Where a request carries an API key. The credential's own fields `in` and `name` take precedence. */
export interface KeyPlacement {
  readonly in: "header" | "query" | "cookie";
  readonly name: string;
  /** Written before the key, e.g. "Bearer ". */
  readonly prefix?: string;
}

/** One way to authenticate with a provider. */
export interface AuthScheme {
  /** JSON Schema of the credential, a flat object whose secret fields are `writeOnly`. */
  readonly fields: JsonObject;
  /** For `api_key`; if absent, the key is not sent in a header or parameter. */
  readonly placement?: KeyPlacement;
  /** For `api_keys`, which are sent together: where each key goes, by the field that contains it. */
  readonly placements?: Readonly<Record<string, KeyPlacement>>;
}

export type AuthSchemes = { readonly [Scheme in ConnectionScheme]?: AuthScheme };

/** The headers and query parameters that authentication adds to a request. */
export interface Authorization {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

const NONE: Authorization = { headers: {}, query: {} };

/** The authentication of a request; `token` is the access token of `oauth2_client_credentials`. */
export function authorizationOf(
  scheme: ConnectionScheme,
  auth: AuthScheme,
  credential: Credential,
  token: string | null,
): Authorization {
  switch (scheme) {
    case "none":
      return NONE;
    case "basic":
      return header("authorization", `Basic ${Buffer.from(basicPair(credential)).toString("base64")}`);
    case "bearer":
      return header("authorization", `Bearer ${textOf(credential, "token")}`);
    case "oauth2_client_credentials":
      return header("authorization", `Bearer ${token ?? ""}`);
    case "api_key":
      return keyAuthorization(auth.placement, credential);
    case "api_keys":
      return together(
        Object.entries(auth.placements ?? {}).map(([member, placement]) =>
          placed(placement, `${placement.prefix ?? ""}${textOf(credential, member)}`),
        ),
      );
    default:
      return scheme satisfies never;
  }
}

/** All texts to mask wherever they appear: secret fields, and values derived from them. */
export function secretsOfCredential(auth: AuthScheme, credential: Credential): string[] {
  const properties = (auth.fields["properties"] ?? {}) as Readonly<Record<string, JsonObject>>;
  const secret = Object.entries(credential).flatMap(([name, value]) =>
    properties[name]?.["writeOnly"] === true && typeof value === "string" ? [value] : [],
  );
  return "password" in credential ? [...secret, Buffer.from(basicPair(credential)).toString("base64")] : secret;
}

/** The credential with the defaults of its fields filled in. */
export function withDefaults(auth: AuthScheme, credential: Credential): Credential {
  const properties = (auth.fields["properties"] ?? {}) as Readonly<Record<string, JsonObject>>;
  const defaults = Object.entries(properties).flatMap(([name, { default: value }]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return { ...Object.fromEntries(defaults), ...credential };
}

/** A string field of a credential; "" if it is not a string. */
export function textOf(credential: Credential, name: string): string {
  const value: Json | undefined = credential[name];
  return typeof value === "string" ? value : "";
}

function basicPair(credential: Credential): string {
  return `${textOf(credential, "username")}:${textOf(credential, "password")}`;
}

function keyAuthorization(placement: KeyPlacement | undefined, credential: Credential): Authorization {
  if (placement === undefined) return NONE;
  const where = textOf(credential, "in") || placement.in;
  const name = textOf(credential, "name") || placement.name;
  return placed({ in: where as KeyPlacement["in"], name }, `${placement.prefix ?? ""}${textOf(credential, "api_key")}`);
}

function placed(placement: KeyPlacement, value: string): Authorization {
  const { name } = placement;
  if (placement.in === "query") return { headers: {}, query: { [name]: value } };
  return placement.in === "cookie"
    ? header("cookie", `${name}=${encodeURIComponent(value)}`)
    : header(name.toLowerCase(), value);
}

/** Combines several keys. Cookies share one header; other keys have different names. */
function together(all: readonly Authorization[]): Authorization {
  const headers: Record<string, string> = {};
  for (const [name, value] of all.flatMap((each) => Object.entries(each.headers)))
    headers[name] = name === "cookie" && headers[name] !== undefined ? `${headers[name]}; ${value}` : value;
  return { headers, query: Object.assign({}, ...all.map(({ query }) => query)) as Record<string, string> };
}

function header(name: string, value: string): Authorization {
  return { headers: { [name]: value }, query: {} };
}
