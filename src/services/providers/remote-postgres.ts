import { MAX_VALUE_BYTES, type Json, type JsonObject } from "../../domain/json.ts";
import { ActionFailed, ActionRefused } from "../../domain/providers/action.ts";
import { textOf } from "../../domain/providers/connection.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { toFetchError } from "../../platform/fetch/guarded-fetch-errors.ts";
import type { GuardedSockets } from "../../platform/fetch/guarded-sockets.ts";
import { beginRemote, type RemoteTarget } from "../../stores/providers/remote-postgres.ts";
import { RemoteError, RemoteTooLarge, type RemoteRows } from "../../stores/providers/remote-statement.ts";
import type { Finding, ResolvedConnection } from "./resolve-connection.ts";

/** Longest result of a statement on the wire (bytes). */
const MAX_BYTES = MAX_VALUE_BYTES / 2;
const CONNECT_MS = 10_000;
/** SQLSTATEs of transient errors: deadlocks, conflicts, a server that is overloaded or shutting down. */
const PASSING = /^(?:40|53|57P0[123]|55P03)/;
/** SQLSTATEs of a refused credential or database name. */
const REFUSED = /^(?:28|3D)/;

export interface SqlStatement {
  readonly sql: string;
  readonly params: readonly Json[];
  readonly maxRows: number;
  readonly statementMs: number;
}

/**
 * Executes one statement in its own transaction. Awaits `begin` right before a statement that may write. Throws
 * ActionRefused, NodeFailure, and the errors of the guarded connections.
 */
export async function runRemoteSql(
  sockets: GuardedSockets,
  connection: ResolvedConnection,
  { sql, params, maxRows, statementMs }: SqlStatement,
  {
    writes,
    signal,
    begin = async () => undefined,
  }: { readonly writes: boolean; readonly signal: AbortSignal; readonly begin?: () => Promise<void> },
): Promise<RemoteRows> {
  const target = targetOf(sockets, connection, CONNECT_MS);
  const origin = `${target.host}:${target.port}`;
  const transaction = await beginRemote(target, writes ? "read write" : "read only", signal).catch(
    async (error: unknown) => {
      if (error instanceof RemoteError && REFUSED.test(error.sqlstate)) await connection.rejected(refusal(error));
      throw toFailure(error, origin, "none", signal);
    },
  );
  let committing = false;
  try {
    await connection.accepted();
    await begin();
    const rows = await transaction.run(sql, params, { maxRows, statementMs, maxBytes: MAX_BYTES });
    requireNames(rows);
    if (writes && rows.truncated) {
      throw new ActionFailed(
        "none",
        "value_too_large",
        `The query returns more than ${maxRows} rows, so nothing was changed.`,
      );
    }
    committing = writes;
    if (writes) await transaction.commit();
    return rows;
  } catch (error) {
    throw toFailure(error, origin, committing ? "unknown" : "none", signal);
  } finally {
    await transaction.close();
  }
}

/** Whether the database accepts the credential. Null means unknown. Throws the errors of the guarded connections. */
export async function checkRemoteSql(
  sockets: GuardedSockets,
  connection: ResolvedConnection,
  ms: number,
): Promise<Finding> {
  const target = targetOf(sockets, connection, ms);
  try {
    const transaction = await beginRemote(target, "read only", AbortSignal.timeout(ms));
    await transaction.close();
    return { status: "active", reason: null };
  } catch (error) {
    if (!(error instanceof RemoteError)) throw toFetchError(error, `${target.host}:${target.port}`);
    return { status: REFUSED.test(error.sqlstate) ? "error" : null, reason: refusal(error) };
  }
}

export function rowsAsObjects({ columns, rows }: RemoteRows): JsonObject[] {
  // Object.fromEntries, unlike assignment, keeps a column named "__proto__" as a column.
  return rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null])));
}

function targetOf(sockets: GuardedSockets, { credential }: ResolvedConnection, connectMs: number): RemoteTarget {
  const tls = textOf(credential, "tls");
  const ca = textOf(credential, "ca");
  return {
    host: textOf(credential, "host"),
    port: Number(credential["port"]),
    database: textOf(credential, "database"),
    user: textOf(credential, "username"),
    password: textOf(credential, "password"),
    tls: tls === "off" ? "off" : { verify: tls === "verify", ca: ca === "" ? undefined : ca },
    socket: sockets.socket,
    connectMs,
  };
}

/** Refuses two columns of the same name, because one would silently be lost in the object. */
function requireNames({ columns }: RemoteRows): void {
  const twice = columns.find((name, at) => columns.indexOf(name) !== at);
  if (twice === undefined) return;
  const message = `Two columns are named ${twice}: rename one with AS`;
  throw new ActionFailed("none", "action_refused", message);
}

/** The reason of a refusal without the server's own text, which may describe an internal network. */
function refusal({ sqlstate, message }: RemoteError): string {
  return sqlstate === ""
    ? `The database cannot be used: ${message}.`
    : `The database refused the connection (${sqlstate}).`;
}

function toFailure(error: unknown, origin: string, effect: ActionFailed["effect"], signal: AbortSignal): unknown {
  if (signal.aborted) return new ActionFailed(effect, "action_interrupted", "The statement was interrupted.");
  if (error instanceof RemoteTooLarge) return new ActionFailed(effect, "value_too_large", error.message);
  if (error instanceof NodeFailure || error instanceof ActionRefused) return error;
  if (error instanceof RemoteError) {
    const { sqlstate, message } = error;
    if (sqlstate === "" || REFUSED.test(sqlstate)) {
      return new ActionFailed("none", "connection_rejected", refusal(error));
    }
    const retryable = PASSING.test(sqlstate);
    // An error means that nothing was changed: the transaction was not committed, or the commit was refused and rolled
    // back.
    return new ActionFailed("none", "action_refused", `${message} (SQLSTATE ${sqlstate})`, { retryable, cause: error });
  }
  const failed = toFetchError(error, origin);
  if (effect !== "none" || !(failed instanceof Error) || failed.name !== "FetchFailed") return failed;
  return new ActionFailed("none", "connection_failed", failed.message, { retryable: true, cause: failed });
}
