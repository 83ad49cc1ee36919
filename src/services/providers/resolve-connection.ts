import { uuidv7 } from "uuidv7";
import {
  authorizationOf,
  secretsOfCredential,
  type Authorization,
  type ConnectionScheme,
  type Credential,
} from "../../domain/providers/connection.ts";
import type { Provider } from "../../domain/providers/provider.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { isUuid } from "../../domain/uuid.ts";
import { SealBroken, type SecretBox } from "../../platform/secrets/seal.ts";
import { findSealedConnection, recordFinding, type CredentialFinding } from "../../stores/providers/connections.ts";
import { createAccessTokens, TokenRefused } from "./access-tokens.ts";
import { openCredential } from "./credentials.ts";
import { findProvider } from "./providers.ts";
import type { Parts } from "../parts.ts";
import type { SendAuthorized } from "../../platform/mcp/mcp-client.ts";

/** The properties of a provider that its connections need. */
export type ConnectedProvider = Pick<Provider, "provider_id" | "auth" | "check" | "source">;

/** A connection about to be used, with its credential. It must stay inside the activity that resolved it. */
export interface ResolvedConnection {
  readonly connection_id: string;
  readonly name: string;
  readonly provider: ConnectedProvider;
  readonly scheme: ConnectionScheme;
  /** The provider's `fields`, with defaults filled in. */
  readonly credential: Credential;
  /** Every text that must be masked in everything that leaves the activity; fetched tokens are added. */
  readonly secrets: readonly string[];
  /** The headers and parameters that authenticate a request. Throws NodeFailure if no access token can be fetched. */
  authorize(): Promise<Authorization>;
  /** The same, with a new access token if the connection uses tokens, to check the credential. */
  authorizeAnew(): Promise<Authorization>;
  /** The same without fetching a token, for requests that are shown to people after masking. */
  authorization(): Authorization;
  /**
   * Sends an authenticated request, and retries once with a new access token if the service returns 401. Keeps the
   * connection's status up to date: `error` when the credential is refused, cleared when it works again.
   */
  send<Answer extends { readonly status: number; readonly url: string }>(
    call: (authorization: Authorization) => Promise<Answer>,
  ): Promise<Answer>;
  /** Records that the service refused the credential. `reason` must not contain a secret. */
  rejected(reason: string): Promise<void>;
  /** Records that the service accepted the credential. */
  accepted(): Promise<void>;
}

/** What a check of a credential has found; a status of null means that nothing is known. */
export type Finding = Pick<CredentialFinding, "status" | "reason">;

/** Resolves connections. For activities only: the result must not leave them. */
export type ConnectionResolver = ReturnType<typeof createConnectionResolver>;

export function createConnectionResolver({ db, secrets: box, guardedFetch }: Parts<"db" | "secrets" | "guardedFetch">) {
  const tokens = createAccessTokens(guardedFetch);

  return {
    /**
     * Throws NodeFailure `connection_not_found`, `connection_disabled`, or `connection_unreadable` (sealed with a key
     * that no longer exists). `making` is a provider that is still being created.
     */
    async resolve(orgId: string, connectionId: string, making?: ConnectedProvider): Promise<ResolvedConnection> {
      const row = isUuid(connectionId)
        ? await db.org(orgId, (connection) => findSealedConnection(connection, connectionId))
        : null;
      if (row === null) throw new NodeFailure("connection_not_found", `Connection ${connectionId} not found.`);
      const { connection_id, name, scheme, credential_revision } = row;
      if (row.status === "disabled")
        throw new NodeFailure("connection_disabled", `The connection "${name}" is disabled.`);
      const provider =
        making?.provider_id === row.provider_id
          ? making
          : await db.org(orgId, (connection) => findProvider(connection, row.provider_id));
      const auth = provider?.auth.schemes[scheme];
      if (!provider || !auth) {
        const message = `The provider ${row.provider_id} of the connection "${name}" no longer exists.`;
        throw new NodeFailure("connection_not_found", message);
      }
      const credential = opened(box, connection_id, row.credential);
      const secrets = secretsOfCredential(auth, credential);
      let { status } = row;
      let token: string | undefined;

      const note = async (found: "active" | "error", reason: string | null): Promise<void> => {
        if (status === found) return;
        status = found;
        const finding = { credential_revision, status: found, reason, event_id: uuidv7() };
        await db.orgTransaction(orgId, (connection) => recordFinding(connection, connection_id, finding));
      };
      const rejected = (reason: string): Promise<void> => note("error", reason);
      const accepted = (): Promise<void> => note("active", null);

      const key = `${connection_id} ${credential_revision}`;
      const authorizeBy = async (tokenOf: () => Promise<string>): Promise<Authorization> => {
        if (scheme === "oauth2_client_credentials") {
          try {
            token = await tokenOf();
          } catch (error) {
            if (error instanceof TokenRefused) await rejected(error.message);
            throw error;
          }
          secrets.push(token);
        }
        return authorizationOf(scheme, auth, credential, token ?? null);
      };
      const authorize = (instead?: string): Promise<Authorization> =>
        authorizeBy(() => tokens.get(key, credential, instead));

      return {
        connection_id,
        name,
        provider,
        scheme,
        credential,
        secrets,
        authorize: () => authorize(),
        authorizeAnew: () => authorizeBy(() => tokens.renew(key, credential)),
        authorization: () => authorizationOf(scheme, auth, credential, token ?? "token"),
        rejected,
        accepted,
        async send(call) {
          let response = await call(await authorize());
          if (response.status === 401 && token !== undefined) response = await call(await authorize(token));
          if (response.status === 401) await rejected(`${new URL(response.url).origin} returned status 401.`);
          else if (response.status < 400) await accepted();
          return response;
        },
      };
    },
  };
}

function opened(box: SecretBox, connectionId: string, sealed: Buffer): Credential {
  try {
    return openCredential(box, connectionId, sealed);
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    throw new NodeFailure("connection_unreadable", `The connection's credential cannot be decrypted: ${error.message}`);
  }
}

/** Sends requests with or without the credential of a connection. */
export function sendAuthorized(connection: ResolvedConnection | null): SendAuthorized {
  if (connection === null) return (call) => call({ headers: {}, query: {} });
  return (call) => connection.send(call);
}
