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
      return auth.placement === undefined ? NONE : keysIn({ api_key: chosen(auth.placement, credential) }, credential);
    case "api_keys":
      return keysIn(auth.placements ?? {}, credential);
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

function chosen(placement: KeyPlacement, credential: Credential): KeyPlacement {
  const where = (textOf(credential, "in") || placement.in) as KeyPlacement["in"];
  return { ...placement, in: where, name: textOf(credential, "name") || placement.name };
}

/** Keys at their places, by the fields that contain them. Cookies share one header; other keys have different names. */
function keysIn(placements: Readonly<Record<string, KeyPlacement>>, credential: Credential): Authorization {
  const headers = new Map<string, string>();
  const query = new Map<string, string>();
  for (const [field, { in: where, name, prefix = "" }] of Object.entries(placements)) {
    const key = `${prefix}${textOf(credential, field)}`;
    const header = where === "cookie" ? "cookie" : name.toLowerCase();
    const text = where === "cookie" ? `${name}=${encodeURIComponent(key)}` : key;
    const cookies = header === "cookie" ? headers.get(header) : undefined;
    if (where === "query") query.set(name, key);
    else headers.set(header, cookies === undefined ? text : `${cookies}; ${text}`);
  }
  return { headers: Object.fromEntries(headers), query: Object.fromEntries(query) };
}

function header(name: string, value: string): Authorization {
  return { headers: { [name]: value }, query: {} };
}
