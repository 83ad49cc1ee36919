import { uuidv7 } from "uuidv7";
import { textOf } from "../../domain/providers/connection.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import type { Json } from "../../domain/json.ts";
import { FetchFailed, FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import { createMaskValues } from "../../platform/logging/mask-values.ts";
import type { McpClient } from "../../platform/mcp/mcp-client.ts";
import type { Database } from "../../stores/db.ts";
import { findConnection, recordFinding } from "../../stores/providers/connections.ts";
import { checkBuckets } from "./remote-buckets.ts";
import { checkMail } from "./remote-mail.ts";
import { checkRemoteSql } from "./remote-postgres.ts";
import {
  sendAuthorized,
  type ConnectionResolver,
  type Finding,
  type ResolvedConnection,
} from "./resolve-connection.ts";
import type { Parts } from "../parts.ts";

/** Longest check (ms), because a person may be waiting for it. */
const CHECK_MS = 4000;
const LIMITS = { responseBytes: 1024 * 1024, totalMs: CHECK_MS };

export interface CheckDeps extends Parts<"db" | "guardedFetch" | "sockets" | "version"> {
  readonly connections: ConnectionResolver;
  readonly mcp: Pick<McpClient, "greet">;
}

/**
 * Tries a connection's credential if its provider has a check, and records the outcome. Without a check, or if the
 * service cannot be reached, the status is unchanged. For activities.
 */
export async function checkConnection(deps: CheckDeps, orgId: string, connectionId: string): Promise<void> {
  const { db, connections } = deps;
  const row = await db.org(orgId, (connection) => findConnection(connection, connectionId));
  if (row === null || row.status === "disabled") return;
  const finding = await connections
    .resolve(orgId, connectionId)
    .then((found) => tryCredential(deps, found), unreadable);
  if (finding === null) return;
  const { credential_revision } = row;
  await db.orgTransaction(orgId, (connection) =>
    recordFinding(connection, connectionId, { ...finding, credential_revision, event_id: uuidv7() }),
  );
}

/** Records that an internal error prevented the check of a connection. */
export async function noteCheckFault(db: Database, orgId: string, connectionId: string, reason: string): Promise<void> {
  await db.orgTransaction(orgId, async (connection) => {
    const row = await findConnection(connection, connectionId);
    if (row === null) return;
    const { credential_revision } = row;
    const finding = { ...unknown(reason), credential_revision, event_id: uuidv7() };
    await recordFinding(connection, connectionId, finding);
  });
}

/** Checks a credential with its service. Null if there is no way to check it. */
async function tryCredential(deps: CheckDeps, connection: ResolvedConnection): Promise<Finding | null> {
  try {
    return await (CHECKS[connection.provider.provider_id] ?? ask)(deps, connection);
  } catch (error) {
    const mask = createMaskValues(connection.secrets);
    if (error instanceof FetchRefused || error instanceof FetchFailed) return unknown(mask(error.message));
    if (error instanceof DOMException && error.name === "TimeoutError")
      return unknown("The service did not respond in time.");
    if (!(error instanceof NodeFailure)) throw error;
    const { code, upstream_status } = error;
    const isRefused = code === "connection_rejected" || upstream_status === 401 || upstream_status === 403;
    return { status: isRefused ? "error" : null, reason: mask(error.message).slice(0, 200) };
  }
}

/** Checks of providers that take more than one HTTP request. */
const CHECKS: Readonly<Record<string, (deps: CheckDeps, connection: ResolvedConnection) => Promise<Finding>>> = {
  postgres: ({ sockets }, connection) => checkRemoteSql(sockets, connection, CHECK_MS),
  smtp: ({ sockets }, connection) => checkMail(sockets, connection, CHECK_MS),
  s3: ({ guardedFetch }, connection) => checkBuckets({ guardedFetch }, connection, CHECK_MS),
};

async function ask({ guardedFetch, mcp, version }: CheckDeps, connection: ResolvedConnection): Promise<Finding | null> {
  const { provider, credential } = connection;
  const base = textOf(credential, "base_url");
  const { check } = provider;
  if (provider.source === "mcp" && base !== "") {
    await connection.authorizeAnew();
    const signal = AbortSignal.timeout(LIMITS.totalMs);
    await mcp.greet({ url: base, send: sendAuthorized(connection), signal, limits: LIMITS });
    return { status: "active", reason: null };
  }
  if (check === undefined || base === "") {
    if (connection.scheme !== "oauth2_client_credentials") return null;
    await connection.authorizeAnew();
    return { status: "active", reason: null };
  }
  const { headers, query } = await connection.authorizeAnew();
  const parameters = new URLSearchParams(query).toString();
  const response = await guardedFetch.fetch({
    url: base.replace(/(?<!\/)\/+$/, "") + check.path + (parameters && `?${parameters}`),
    method: check.method,
    headers: { accept: "application/json", "user-agent": `Millrace/${version}`, ...check.headers, ...headers },
    secretHeaders: Object.keys(headers),
    limits: LIMITS,
  });
  const { origin } = new URL(response.url);
  if (response.status === 401 || response.status === 403) {
    return { status: "error", reason: `${origin} returned status ${response.status}.` };
  }
  if (response.status >= 400)
    return unknown(`${origin} returned status ${response.status}, which does not show whether the credential works.`);
  const no = check.refused?.(bodyOf(response.body)) ?? null;
  return no === null ? { status: "active", reason: null } : { status: "error", reason: no.slice(0, 200) };
}

function unknown(reason: string): Finding {
  return { status: null, reason };
}

function unreadable(error: unknown): Finding {
  if (!(error instanceof NodeFailure)) throw error;
  return { status: "error", reason: error.message };
}

function bodyOf(body: Buffer): Json {
  try {
    return JSON.parse(body.toString("utf8")) as Json;
  } catch {
    return null;
  }
}
