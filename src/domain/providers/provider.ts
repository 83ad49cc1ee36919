import type { Json, JsonObject } from "../json.ts";
import type { Action, Trigger } from "./action.ts";
import type { AuthSchemes } from "./connection.ts";

export const PROVIDER_SOURCES = ["builtin", "openapi", "mcp"] as const;
export type ProviderSource = (typeof PROVIDER_SOURCES)[number];

/** A request below the credential's `base_url` that shows whether the credential is valid. */
export interface CredentialCheck {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Why a 2xx response means that the credential is invalid; null if it is valid. */
  readonly refused?: (body: Json) => string | null;
}

/** A service that has actions or triggers, or that connections belong to. */
export interface Provider {
  readonly provider_id: string;
  readonly provider_version: string;
  readonly name: string;
  readonly description: string;
  readonly provider_group: readonly string[];
  readonly tags: readonly string[];
  /** A data: URL of an SVG, or null. */
  readonly icon: string | null;
  readonly auth: { readonly required: boolean; readonly schemes: AuthSchemes };
  readonly source: ProviderSource;
  /** Whether statements of an MCP server about its tools' effects are trusted. */
  readonly trusted?: boolean;
  readonly check?: CredentialCheck;
  readonly actions: readonly Action[];
  readonly triggers: readonly Trigger[];
}

/** A built-in provider. Its triggers are defined with the triggers (domain/triggers). */
export type BuiltinProvider = Omit<Provider, "triggers">;

interface ActionDraft extends Pick<Action, "name" | "annotations" | "input_schema" | "request" | "outputs"> {
  /** The description for people and, without `llm`, for models. */
  readonly description: string;
  readonly llm?: string;
  readonly output_schema?: JsonObject;
  readonly requires_connection?: boolean;
  readonly timeout_seconds?: number;
}

interface ProviderDraft extends Omit<BuiltinProvider, "provider_version" | "icon" | "source" | "actions"> {
  readonly actions: Readonly<Record<string, ActionDraft>>;
}

export function defineProvider({ actions, ...draft }: ProviderDraft): BuiltinProvider {
  const defined = Object.entries(actions).map(([action_id, { description, llm = description, ...action }]): Action => ({
    output_schema: {},
    requires_connection: true,
    timeout_seconds: 60,
    version: "1",
    action_id,
    ...action,
    description: { human: description, llm },
  }));
  return { provider_version: "1", icon: null, source: "builtin", ...draft, actions: defined };
}

/** The JSON Schema of a provider's credentials: that of its only scheme, or one of several. */
export function credentialSchema({ auth }: Pick<Provider, "auth">): JsonObject {
  const schemes = Object.entries(auth.schemes).map(([scheme, { fields }]) => ({ title: scheme, ...fields }));
  const [only] = schemes;
  if (only === undefined) return {};
  return schemes.length === 1 ? only : { oneOf: schemes };
}
