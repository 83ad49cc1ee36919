import type { JsonObject } from "../json.ts";
import type { AuthScheme, KeyPlacement } from "./connection.ts";

/** Longest field of a credential (characters). */
const MAX_CHARS = 16_384;

/** A field of a credential that is not secret. */
export const plain = (description: string, more: JsonObject = {}): JsonObject => ({
  type: "string",
  minLength: 1,
  maxLength: MAX_CHARS,
  description,
  ...more,
});

/** A secret field, without control characters because it is sent in a header. */
const secret = (description: string): JsonObject =>
  plain(description, { writeOnly: true, format: "password", pattern: "^[^\\x00-\\x1f\\x7f]+$" });

/** A secret field that may contain any characters. */
export const secretText = (description: string): JsonObject =>
  plain(description, { writeOnly: true, format: "password" });

/** A certificate (PEM) to verify a server with. */
export const certificate = (description: string): JsonObject =>
  plain(description, { pattern: "-----BEGIN CERTIFICATE-----" });

export const webAddress = (description: string, more: JsonObject = {}): JsonObject =>
  plain(description, { format: "uri", pattern: "^https?://", ...more });

/** The schema of a credential. A field is required unless it has a default or is in `optional`. */
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

export const apiKey = (placement: KeyPlacement, more: More = {}): AuthScheme => ({
  fields: fieldsOf({ api_key: secret("API key"), ...more }),
  placement,
});

/** A key in a header or parameter that the connection's credential names. */
export const placedApiKey = (more: More): AuthScheme =>
  apiKey(
    { in: "header", name: "x-api-key" },
    {
      ...more,
      in: { enum: ["header", "query"], default: "header", description: "Where to send the key" },
      name: plain("Name of the header or query parameter", {
        default: "x-api-key",
        pattern: "^[A-Za-z0-9_.-]{1,128}$",
      }),
    },
  );

/** Keys that are sent together, by the credential fields that contain them. */
export const apiKeys = (placements: Readonly<Record<string, KeyPlacement>>, more: More = {}): AuthScheme => ({
  fields: fieldsOf({
    ...Object.fromEntries(
      Object.entries(placements).map(([member, { in: where, name }]) => [
        member,
        secret(`API key for the ${where} ${name}`),
      ]),
    ),
    ...more,
  }),
  placements,
});

export const basic = (more: More = {}, optional: readonly string[] = []): AuthScheme => ({
  fields: fieldsOf({ username: plain("The user"), password: secretText("Password"), ...more }, optional),
});

export const bearer = (more: More = {}): AuthScheme => ({
  fields: fieldsOf({ token: secret("Access token"), ...more }),
});

export const clientCredentials = (more: More = {}): AuthScheme => ({
  fields: fieldsOf(
    {
      token_url: webAddress("URL that issues access tokens"),
      client_id: plain("Client ID"),
      client_secret: secretText("Client secret"),
      scope: plain("Scopes, separated by spaces"),
      audience: plain("Audience of the token, if the service requires it"),
      ...more,
    },
    ["scope", "audience"],
  ),
});
