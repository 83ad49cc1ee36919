import { isObject, listOf, type Json, type JsonObject } from "../../json.ts";
import { apiKey, apiKeys, basic, bearer, clientCredentials, noCredential, webAddress } from "../auth-fields.ts";
import type { AuthScheme, AuthSchemes, ConnectionScheme, KeyPlacement } from "../connection.ts";
import { membersOf, refuse, textOf, type OpenApiDocument } from "./document.ts";

/** Most keys that one connection sends together. */
const MAX_KEYS = 5;

const KEY_PLACES = ["header", "query", "cookie"] as const;

/** How a service requires clients to authenticate. */
export interface Security {
  /** The authentication schemes for the service's connections. */
  readonly schemes: AuthSchemes;
  /**
   * Whether an operation needs a connection, by its own security requirements or the document's. Throws 422 with the operation's name if no
   * connection can satisfy them.
   */
  required(security: Json | undefined, operation: string, place: readonly string[]): boolean;
}

/** Reads the document's security schemes; of each type, the first one becomes the connection's scheme. */
export function readSecurity(document: OpenApiDocument, server: string): Security {
  const base = {
    base_url: webAddress(
      "Base URL: the credential is sent only to URLs below it",
      server === "" ? {} : { default: server },
    ),
  };
  const schemes: { [Scheme in ConnectionScheme]?: AuthScheme } = {};
  /** The document's schemes that a connection's credential can satisfy, with the connection's scheme. */
  const sendable = new Map<string, ConnectionScheme>();
  for (const [name, value] of declaredIn(document)) {
    const found = schemeOf(value, base);
    if (found === undefined) continue;
    const [kind, auth] = found;
    schemes[kind] ??= auth;
    if (JSON.stringify(schemes[kind]) === JSON.stringify(auth)) sendable.set(name, kind);
  }

  const keys = keysOf(document);
  /** The first combination of keys that some operation requires together. */
  const combined = requirementsOf(document).find((names) => {
    const places = new Set(
      names.map((name) => keys.get(name)).map((key) => key && `${key.in} ${key.name.toLowerCase()}`),
    );
    return names.length > 1 && names.length <= MAX_KEYS && places.size === names.length && !places.has(undefined);
  });
  if (combined !== undefined) {
    const placements = combined.map((name, at) => [memberName(name, at), keys.get(name) as KeyPlacement] as const);
    schemes.api_keys = apiKeys(Object.fromEntries(placements), base);
    // Operations that require all keys would reject a connection with only one of them.
    for (const [name, kind] of sendable) if (combined.includes(name)) delete schemes[kind];
  }

  function canSend(requirement: Json): boolean {
    const names = isObject(requirement) ? Object.keys(requirement) : [];
    if (combined !== undefined && names.every((name) => combined.includes(name)) && names.length > 0) return true;
    const kinds = new Set(names.map((name) => sendable.get(name)));
    // Several schemes of one type can share a credential, unless they are different API keys. Schemes of two types need two credentials,
    // and a connection has one.
    return kinds.size === 1 && !kinds.has(undefined) && (names.length === 1 || !kinds.has("api_key"));
  }

  return {
    schemes: Object.keys(schemes).length > 0 ? schemes : { none: noCredential(base) },
    required(security, operation, place) {
      const wanted = Array.isArray(security) ? security : document.root["security"];
      if (!Array.isArray(wanted) || wanted.length === 0) return false;
      if (wanted.some((each: Json) => isObject(each) && Object.keys(each).length === 0)) return false;
      if (!wanted.some(canSend)) {
        const message = `${operation} needs several credentials at the same time that are not all keys or tokens, or other credentials than the rest of the document. A connection has one kind of credential: import the document without this operation, or change its "security"`;
        refuse(message, ...place, "security");
      }
      return true;
    },
  };
}

/** The document's security schemes, by name. */
function declaredIn({ root, resolve }: OpenApiDocument): Array<[string, JsonObject]> {
  const schemes = membersOf(resolve(root["components"])["securitySchemes"]);
  return schemes.map(([name, value]) => [name, resolve(value)]);
}

/** Where the document's keys and tokens are sent, by the names of their schemes. */
function keysOf(document: OpenApiDocument): Map<string, KeyPlacement> {
  const keys = new Map<string, KeyPlacement>();
  for (const [name, value] of declaredIn(document)) {
    const [kind, auth] = schemeOf(value, {}) ?? [];
    if (kind === "api_key" && auth?.placement !== undefined) keys.set(name, auth.placement);
    if (kind === "bearer") keys.set(name, { in: "header", name: "Authorization", prefix: "Bearer " });
  }
  return keys;
}

/** The names of the security schemes that the document and its operations require, one list for each alternative. */
function requirementsOf(document: OpenApiDocument): string[][] {
  const operations = membersOf(document.root["paths"]).flatMap(([, path]) =>
    membersOf(path).map(([, operation]) => (isObject(operation) ? operation["security"] : undefined)),
  );
  return [document.root["security"], ...operations].flatMap((security) =>
    listOf(security)
      .filter(isObject)
      .map((each) => Object.keys(each)),
  );
}

/** The credential field for a scheme: the scheme's name, with characters replaced where necessary. */
function memberName(name: string, at: number): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, "_").slice(0, 64);
  return plain === "base_url" || plain === "__proto__" ? `key_${at + 1}` : plain;
}

function schemeOf(
  given: JsonObject,
  base: Readonly<Record<string, JsonObject>>,
): [ConnectionScheme, AuthScheme] | undefined {
  const type = textOf(given["type"]);
  if (type === "apiKey") {
    const where = KEY_PLACES.find((place) => place === given["in"]);
    const name = textOf(given["name"]);
    return where !== undefined && name !== "" ? ["api_key", apiKey({ in: where, name }, base)] : undefined;
  }
  if (type === "http")
    return textOf(given["scheme"]).toLowerCase() === "basic" ? ["basic", basic(base)] : ["bearer", bearer(base)];
  if (type === "openIdConnect") return ["bearer", bearer(base)];
  if (type !== "oauth2") return undefined;
  const flows = isObject(given["flows"]) ? given["flows"] : {};
  const flow = flows["clientCredentials"];
  if (!isObject(flow)) return ["bearer", bearer(base)];
  const url = textOf(flow["tokenUrl"]);
  const token_url = webAddress("URL that issues access tokens", /^https?:\/\//.test(url) ? { default: url } : {});
  return ["oauth2_client_credentials", clientCredentials({ ...base, token_url })];
}
