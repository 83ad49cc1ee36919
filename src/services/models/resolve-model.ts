import { chooseModel, MODEL_WAY_OUT, type ModelChoice } from "../../domain/models/choose.ts";
import type { Config } from "../../config.ts";
import { textOf } from "../../domain/providers/connection.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { fetchAdapter } from "../../platform/fetch/fetch-adapter.ts";
import type { GuardedFetch } from "../../platform/fetch/guarded-fetch.ts";
import type { ChatEndpoint } from "../../platform/models/chat-request.ts";
import type { Database } from "../../stores/db.ts";
import { getSettings } from "../../stores/models/settings.ts";
import type { ConnectionResolver, ResolvedConnection } from "../providers/resolve-connection.ts";

/** A model about to be called. It contains the credential, so it must stay inside the activity that resolved it. */
export interface ResolvedModel {
  readonly endpoint: ChatEndpoint;
  readonly model: string;
  /** Null for the installation's own endpoint. */
  readonly connection: ResolvedConnection | null;
  /** Reaches this endpoint, with its redirects and addresses checked. */
  readonly fetch: typeof fetch;
  /** Texts that must be masked in everything that leaves the activity. */
  readonly secrets: readonly string[];
}

export type ModelResolver = ReturnType<typeof createModelResolver>;

export interface ModelResolverDeps {
  readonly db: Database;
  readonly connections: ConnectionResolver;
  /** For URLs of connections. */
  readonly guardedFetch: Pick<GuardedFetch, "open">;
  /** For the installation's own endpoint, which may be private. */
  readonly ownFetch: Pick<GuardedFetch, "open">;
  readonly config: Pick<Config, "MILLRACE_MODEL_URL" | "MILLRACE_MODEL_KEY" | "MILLRACE_MODEL">;
}

/** The node's own timeout ends a call, through the signal. */
const DAY_MS = 24 * 60 * 60 * 1000;
const FETCH_OPTIONS = {
  limits: { headersMs: DAY_MS, bodyMs: DAY_MS, totalMs: DAY_MS },
  secretHeaders: ["x-api-key", "api-key"],
};

export function createModelResolver({ db, connections, guardedFetch, ownFetch, config }: ModelResolverDeps) {
  const outside = fetchAdapter(guardedFetch, FETCH_OPTIONS);
  const inside = fetchAdapter(ownFetch, FETCH_OPTIONS);
  return {
    /** Throws NodeFailure `model_not_configured`, or what the connection's resolver throws. */
    async resolve(orgId: string, choice: ModelChoice): Promise<ResolvedModel> {
      const { MILLRACE_MODEL_URL: url, MILLRACE_MODEL_KEY: key, MILLRACE_MODEL } = config;
      const organisation = await db.org(orgId, getSettings);
      const chosen = chooseModel(choice, { organisation, installation: { url, model: MILLRACE_MODEL } });
      if (chosen === null) {
        // Throws if the connection does not exist, which is a clearer error than `model_not_configured`.
        if (choice.connection_id !== undefined) await connections.resolve(orgId, choice.connection_id);
        throw new NodeFailure("model_not_configured", `No model is configured. ${MODEL_WAY_OUT}.`);
      }
      const { model, connection_id } = chosen;
      if (connection_id !== null) {
        const connection = await connections.resolve(orgId, connection_id);
        const endpoint = await endpointOf(connection);
        return { endpoint, model, connection, fetch: outside, secrets: connection.secrets };
      }
      const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
      const endpoint: ChatEndpoint = { protocol: "openai", base_url: (url ?? "").replace(/(?<!\/)\/+$/, ""), headers };
      return { endpoint, model, connection: null, fetch: inside, secrets: key === undefined ? [] : [key] };
    },
  };
}

async function endpointOf(connection: ResolvedConnection): Promise<ChatEndpoint> {
  const { provider_id } = connection.provider;
  const base = textOf(connection.credential, "base_url").replace(/(?<!\/)\/+$/, "");
  const authorization = await connection.authorize();
  switch (provider_id) {
    case "openai_compatible":
      return { protocol: "openai", base_url: base, ...authorization };
    case "anthropic":
      // The connection stores the service's base URL, but the SDK expects it with the API version.
      return { protocol: "anthropic", base_url: `${base}/v1`, ...authorization };
    default:
      throw new NodeFailure(
        "model_not_configured",
        `The connection "${connection.name}" is of provider ${provider_id}, which has no models. Use a connection of openai_compatible or anthropic.`,
      );
  }
}
