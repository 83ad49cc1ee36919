import { Problem, ValidationProblem } from "../../domain/errors.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { textOf } from "../../domain/providers/connection.ts";
import { MAX_ACTIONS } from "../../domain/providers/imported.ts";
import type { ToolsImportInput, ToolsImportResult } from "../../domain/providers/jobs.ts";
import { mcpSchemes, type McpListing } from "../../domain/providers/mcp/tools.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { FetchFailed, FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import { limitedSignal } from "../../platform/linked-abort.ts";
import { maskJson } from "../../platform/logging/mask-json.ts";
import { createMaskValues } from "../../platform/logging/mask-values.ts";
import type { McpClient } from "../../platform/mcp/mcp-client.ts";
import type { Database } from "../../stores/db.ts";
import { deleteConnection } from "../../stores/providers/connections.ts";
import { findImportedProvider } from "../../stores/providers/imports.ts";
import { auditOf } from "../audit/audit.ts";
import {
  sendAuthorized,
  type ConnectedProvider,
  type ConnectionResolver,
  type ResolvedConnection,
} from "./resolve-connection.ts";
import { storeProvider } from "./store-provider.ts";
import type { Parts } from "../parts.ts";

/** Longest time for all calls to the server (ms), because a person waits for the import. */
const MAX_MS = 10_000;
const LIMITS = { responseBytes: 25 * 1024 * 1024, headersMs: MAX_MS, bodyMs: MAX_MS, totalMs: MAX_MS };

export interface ImportToolsDeps extends Parts<"db" | "evaluation"> {
  readonly connections: ConnectionResolver;
  readonly mcp: McpClient;
}

/** Creates a provider from the tools of an MCP server. For activities, because the server may need a credential. */
export async function importTools(
  deps: ImportToolsDeps,
  input: ToolsImportInput,
  stopped: AbortSignal,
): Promise<ToolsImportResult> {
  const { org_id, provider_id, url, connection_id } = input;
  const secrets: string[] = [];
  const { signal, end } = limitedSignal([stopped], MAX_MS);
  try {
    const connection =
      connection_id === null ? null : await deps.connections.resolve(org_id, connection_id, providerToBe(input));
    if (connection !== null) requireSameAddress(connection, url);
    const server = { url, send: sendAuthorized(connection), signal, limits: LIMITS };
    const listing = await deps.mcp
      .listTools(server, MAX_ACTIONS)
      .finally(() => secrets.push(...(connection?.secrets ?? [])));
    // Masked, because a server may echo the credential that it received.
    const mcp = maskJson(listing as unknown as Json, createMaskValues(secrets)) as unknown as McpListing;
    const before = await deps.db.org(org_id, (db) => findImportedProvider(db, provider_id));
    const trusted = input.trust_annotations ?? before?.provider.trusted ?? false;
    const made = await deps.evaluation.provider(org_id, { mcp, url, secured: connection !== null, trusted });
    if (!made.ok) throw new ValidationProblem(made.issues);
    const wanted = { ...input, made, address: url, new_connection_id: input.new_connection ? connection_id : null };
    const imported = await storeProvider(deps.db, org_id, wanted, input.audited ? auditOf(input.audited) : null);
    if (!imported.stored) await dropNewConnection(deps.db, input);
    return { ok: true, imported };
  } catch (error) {
    if (stopped.aborted) throw error;
    const refusal = refusalOf(error, connection_id);
    if (refusal === null) throw error;
    await dropNewConnection(deps.db, input);
    if ("problem" in refusal) return { ok: false, ...refusal };
    return { ok: false, ...refusal, message: createMaskValues(secrets)(refusal.message, true) };
  } finally {
    end();
  }
}

/** Deletes the connection that was created for a failed import. */
export async function dropNewConnection(
  db: Database,
  { org_id, connection_id, new_connection }: ToolsImportInput,
): Promise<void> {
  if (new_connection && connection_id !== null)
    await db.org(org_id, (connection) => deleteConnection(connection, connection_id));
}

/** The properties of a future provider that its first connection needs. */
function providerToBe({ provider_id, url }: ToolsImportInput): ConnectedProvider {
  return { provider_id, auth: { required: true, schemes: mcpSchemes(url) }, source: "mcp" };
}

function requireSameAddress({ credential, name }: ResolvedConnection, url: string): void {
  const base = textOf(credential, "base_url");
  if (base === "" || new URL(base).href === new URL(url).href) return;
  throw new NodeFailure(
    "connection_of_another_provider",
    `The connection "${name}" is for a different URL than this server's`,
  );
}

type Refused<Result> = Result extends { readonly ok: false } ? Omit<Result, "ok"> : never;
type Refusal = Refused<ToolsImportResult>;

/** The refusal for an error that the caller can fix; null for other errors. */
function refusalOf(error: unknown, connectionId: string | null): Refusal | null {
  const url = ["body", "mcp", "url"];
  if (error instanceof ValidationProblem) {
    const [first] = error.issues;
    return { loc: first?.loc ?? url, message: first?.msg ?? error.message };
  }
  if (error instanceof Problem && error.status === 409)
    return { problem: { code: error.code, detail: error.message, extra: error.extra as JsonObject } };
  if (error instanceof DOMException && error.name === "TimeoutError")
    return { loc: url, message: `The server did not respond within ${MAX_MS / 1000} s` };
  if (error instanceof FetchRefused || error instanceof FetchFailed)
    return { loc: url, message: `The server could not be reached: ${error.message}` };
  if (!(error instanceof NodeFailure)) return null;
  if (error.upstream_status === 401 || error.upstream_status === 403) {
    const what = connectionId === null ? "requires a credential: send `connection`" : "rejected the credential";
    return { loc: ["body", "connection"], message: `The server ${what} (${error.message})` };
  }
  if (error.code.startsWith("connection_")) return { loc: ["body", "connection"], message: error.message };
  return { loc: url, message: error.message };
}
