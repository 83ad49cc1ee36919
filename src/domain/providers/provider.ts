import type { Json, JsonObject } from "../json.ts";
import type { Action, Trigger } from "./action.ts";
import type { AuthSchemes } from "./connection.ts";

export const PROVIDER_SOURCES = ["builtin", "openapi", "mcp"] as const;
export type ProviderSource = (typeof PROVIDER_SOURCES)[number];

/** A request that tells whether a credential is good: below the credential's `base_url`. */
export interface CredentialCheck {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Why an answer of 2xx means no all the same; null where it does not. */
  readonly refused?: (body: Json) => string | null;
}

/** A service that actions call, events come from, or connections belong to. */
export interface Provider {
  readonly provider_id: string;
  readonly provider_version: string;
  readonly name: string;
  readonly description: string;
  readonly provider_group: readonly string[];
  readonly tags: readonly string[];
  /** A data address of an SVG, or null. */
  readonly icon: string | null;
  readonly auth: { readonly required: boolean; readonly schemes: AuthSchemes };
  readonly source: ProviderSource;
  /** Whether annotations of an MCP server's tools are trusted. */
  readonly trusted?: boolean;
  readonly check?: CredentialCheck;
  readonly actions: readonly Action[];
  readonly triggers: readonly Trigger[];
}

/** One that comes with the service: which triggers are of it is said where triggers are. */
export type BuiltinProvider = Omit<Provider, "triggers">;

/** The JSON Schema of a provider's credentials: of the one scheme it has, or one of several. */
export function credentialSchema({ auth }: Pick<Provider, "auth">): JsonObject {
  const schemes = Object.entries(auth.schemes).map(([scheme, { fields }]) => ({ title: scheme, ...fields }));
  const [only] = schemes;
  if (only === undefined) return {};
  return schemes.length === 1 ? only : { oneOf: schemes };
}
