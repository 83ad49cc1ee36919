import type { AuditedRequest } from "../../domain/audit/audit.ts";
import { Problem, invalid, required } from "../../domain/errors.ts";
import type { ConnectionScheme, Credential } from "../../domain/providers/connection.ts";
import type { Imported, ImportOptions } from "../../domain/providers/jobs.ts";
import { mcpSchemes } from "../../domain/providers/mcp/tools.ts";
import type { Database } from "../../stores/db.ts";
import { deleteConnection, findConnection, insertConnection } from "../../stores/providers/connections.ts";
import type { ProviderJobs } from "../../temporal/providers.ts";
import { requireCredential, sealCredential } from "./credentials.ts";
import { providerIdOf, requireProviderId } from "./import-provider.ts";
import type { Parts } from "../parts.ts";

/** Longest wait for an import. The import itself has a shorter limit. */
const WAIT_MS = 15_000;

export interface ServerImportDeps extends Parts<"db" | "secrets" | "logger"> {
  readonly providerJobs: Pick<ProviderJobs, "importTools">;
}

export interface ServerImportRequest extends Omit<ImportOptions, "provider_id" | "named"> {
  readonly org_id: string;
  readonly created_by: string;
  /** A new UUID, the same when the request is retried. */
  readonly import_id: string;
  readonly url: string;
  /** Default: derived from the name, or from the URL. */
  readonly provider_id: string | undefined;
  readonly name: string | undefined;
  /** A credential for the server; it becomes a connection of the provider. */
  readonly connection:
    | { readonly name?: string | undefined; readonly scheme: ConnectionScheme; readonly credential: Credential }
    | undefined;
  readonly connection_id: string | undefined;
  readonly audited: AuditedRequest;
}

export interface ServerImported extends Imported {
  readonly provider_id: string;
  /** The connection that was created. */
  readonly connection_id: string | null;
}

/**
 * Creates a provider from the tools of an MCP server, or updates it. A worker calls the server, because only workers
 * open credentials. Throws 422 for a server that cannot be imported, 404 for an unknown connection, and 409 as
 * storeProvider does.
 */
export async function importServer(deps: ServerImportDeps, request: ServerImportRequest): Promise<ServerImported> {
  const { db, providerJobs, logger } = deps;
  const { org_id, import_id, url } = request;
  const { username, password, host, pathname } = new URL(url);
  if (username !== "" || password !== "") throw invalid(["body", "mcp", "url"], "Send the credential as `connection`");
  const provider_id = requireProviderId(request.provider_id ?? providerIdOf(request.name ?? host + pathname));
  const made = request.connection === undefined ? null : import_id;
  if (request.connection) await store(deps, request, provider_id, request.connection);
  else if (request.connection_id !== undefined) await requireOwn(db, org_id, request.connection_id, provider_id);
  const { name = null, dry_run, force, accept_changes, trust_annotations, audited } = request;
  const named = request.provider_id !== undefined;
  const options = { provider_id, named, dry_run, force, accept_changes, trust_annotations };
  const connection_id = made ?? request.connection_id ?? null;
  const input = { ...options, org_id, name, url, connection_id, new_connection: made !== null, audited };
  const result = await providerJobs.importTools(import_id, input, WAIT_MS).catch((err: unknown) => {
    logger.warn({ err, provider_id }, "could not start the import; it will be retried");
    return null;
  });
  if (result === null) {
    if (made !== null) await db.org(org_id, (connection) => deleteConnection(connection, made));
    throw new Problem("service_unavailable", "No worker queried the server in time. Retry.", {
      headers: { "Retry-After": "5" },
    });
  }
  if (result.ok) return { ...result.imported, provider_id, connection_id: dry_run ? null : made };
  if ("loc" in result) throw invalid(result.loc, result.message);
  const { code, detail, extra } = result.problem;
  throw new Problem(code, detail, { extra });
}

/** Stores the credential as a connection of the provider that is being created. Throws 422. */
async function store(
  { db, secrets }: ServerImportDeps,
  { org_id, created_by, import_id, name, url }: ServerImportRequest,
  provider_id: string,
  wanted: NonNullable<ServerImportRequest["connection"]>,
): Promise<void> {
  const { scheme } = wanted;
  const auth = mcpSchemes(url)[scheme];
  if (auth === undefined)
    throw invalid(["body", "connection", "scheme"], `Must be one of: ${Object.keys(mcpSchemes(url)).join(", ")}`);
  const credential = sealCredential(
    secrets,
    import_id,
    requireCredential(auth, wanted.credential, ["body", "connection", "credential"]),
  );
  const connection = {
    connection_id: import_id,
    org_id,
    name: wanted.name ?? name ?? provider_id,
    provider_id,
    scheme,
    credential,
    created_by,
  };
  await db.org(org_id, (each) => insertConnection(each, connection));
}

async function requireOwn(db: Database, orgId: string, connectionId: string, providerId: string): Promise<void> {
  const found = required(await db.org(orgId, (connection) => findConnection(connection, connectionId)), "connection");
  if (found.provider_id !== providerId)
    throw invalid(["body", "connection_id"], `The connection must be of this provider; it is of ${found.provider_id}`);
}
