import type { JsonObject } from "../json.ts";
import type { AuthScheme, KeyPlacement } from "./connection.ts";

/** Longest member of a credential (characters). */
const MAX_CHARS = 16_384;

/** A member of a credential that is not secret. */
export const plain = (description: string, more: JsonObject = {}): JsonObject => ({
  type: "string",
  minLength: 1,
  maxLength: MAX_CHARS,
  description,
  ...more,
});

/** A secret member. Without control characters, because it goes into a header. */
const secret = (description: string): JsonObject =>
  plain(description, { writeOnly: true, format: "password", pattern: "^[^\\x00-\\x1f\\x7f]+$" });

/** A secret of any characters. */
export const secretText = (description: string): JsonObject =>
  plain(description, { writeOnly: true, format: "password" });

/** A certificate that a server is checked by, as PEM. */
export const certificate = (description: string): JsonObject =>
  plain(description, { pattern: "-----BEGIN CERTIFICATE-----" });

export const webAddress = (description: string, more: JsonObject = {}): JsonObject =>
  plain(description, { format: "uri", pattern: "^https?://", ...more });

/** The schema of a credential. A member without a default that is not in `optional` is required. */
export function fieldsOf(
  properties: Readonly<Record<string, JsonObject>>,
  optional: readonly string[] = [],
): JsonObject {
  const required = Object.keys(properties).filter(
    (name) => !optional.includes(name) && properties[name]?.["default"] === undefined,
  );
  return { type: "object", properties, required, additionalProperties: false };
}

type More = Readonly<Record<string, JsonObject>>;

export const noCredential = (more: More = {}, optional: readonly string[] = []): AuthScheme => ({
  fields: fieldsOf(more, optional),
});

export const apiKey = (placement: KeyPlacement, more: More = {}, optional: readonly string[] = []): AuthScheme => ({
  fields: fieldsOf({ api_key: secret("The key"), ...more }, optional),
  placement,
});

/** A key in a header or parameter that the connection names. */
export const placedApiKey = (more: More): AuthScheme =>
  apiKey(
    { in: "header", name: "x-api-key" },
    {
      ...more,
      in: { enum: ["header", "query"], default: "header", description: "Where the key goes" },
      name: plain("The header or parameter", { default: "x-api-key", pattern: "^[A-Za-z0-9_.-]{1,128}$" }),
    },
  );

/** Keys that are sent together, by the members of the credential that have them. */
export const apiKeys = (placements: Readonly<Record<string, KeyPlacement>>, more: More = {}): AuthScheme => ({
  fields: fieldsOf({
    ...Object.fromEntries(
      Object.entries(placements).map(([member, { in: where, name }]) => [
        member,
        secret(`The key of the ${where} ${name}`),
      ]),
    ),
    ...more,
  }),
  placements,
});

export const basic = (more: More = {}, optional: readonly string[] = []): AuthScheme => ({
  fields: fieldsOf({ username: plain("The user"), password: secretText("The password"), ...more }, optional),
});

export const bearer = (more: More = {}): AuthScheme => ({
  fields: fieldsOf({ token: secret("The access token"), ...more }),
});

export const clientCredentials = (more: More = {}): AuthScheme => ({
  fields: fieldsOf(
    {
      token_url: webAddress("Where access tokens are asked for"),
      client_id: plain("The client"),
      client_secret: secretText("The client's secret"),
      scope: plain("Scopes, separated by blanks"),
      audience: plain("What the token is for, where the service asks for it"),
      ...more,
    },
    ["scope", "audience"],
  ),
});
