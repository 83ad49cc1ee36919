import type { Duplex } from "node:stream";
import { Client, DatabaseError } from "pg";
import type { Json } from "../../domain/json.ts";
import { RemoteError, RemoteStatement, type RemoteRows } from "./remote-statement.ts";

/** A session with a user's own database. Every setting is explicit: none comes from the environment or a file. */
export interface RemoteTarget {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  readonly tls: "off" | { readonly verify: boolean; readonly ca: string | undefined };
  /** A socket that is not connected yet. */
  readonly socket: () => Duplex;
  readonly connectMs: number;
}

export interface RemoteLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
  /** The server's time limit for the statement (ms). */
  readonly statementMs: number;
}

/** A session with an open transaction. */
export interface RemoteTransaction {
  /** Throws RemoteError, RemoteTooLarge, and the errors of a broken connection. */
  run(sql: string, params: readonly Json[], limits: RemoteLimits): Promise<RemoteRows>;
  commit(): Promise<void>;
  /** Ends the session and rolls back what was not committed. */
  close(): Promise<void>;
}

/** Opens a session and begins a transaction. Aborting `signal` closes the connection. Throws the same errors as `run`. */
export async function beginRemote(
  { socket, tls, connectMs, ...target }: RemoteTarget,
  access: "read only" | "read write",
  signal: AbortSignal,
): Promise<RemoteTransaction> {
  signal.throwIfAborted();
  const stream = socket();
  const client = new Client({
    ...target,
    stream: () => stream,
    ssl: tls === "off" ? false : { rejectUnauthorized: tls.verify, ...(tls.ca === undefined ? {} : { ca: tls.ca }) },
    connectionTimeoutMillis: connectMs,
    application_name: "millrace",
  });
  // A broken connection fails the running statement; without a listener, it would end the process.
  client.on("error", () => undefined);
  const cut = (): void => void stream.destroy();
  signal.addEventListener("abort", cut, { once: true });
  const close = async (): Promise<void> => {
    signal.removeEventListener("abort", cut);
    // The server rolls back. A server that does not respond is not waited for.
    await Promise.race([client.end(), new Promise((resolve) => void setTimeout(resolve, 1000).unref())]).catch(
      () => undefined,
    );
    stream.destroy();
  };
  const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw asRemote(error);
    }
  };
  try {
    await attempt(async () => {
      await client.connect();
      await client.query(`begin transaction ${access}`);
      // This must be the transaction's first query: after it, the transaction cannot become read-write.
      await client.query(
        "select set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO', true), set_config('bytea_output', 'hex', true)",
      );
    });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    run: (sql, params, { statementMs, ...limits }) =>
      attempt(async () => {
        await client.query("select set_config('statement_timeout', $1, true)", [String(Math.ceil(statementMs))]);
        const statement = new RemoteStatement(sql, params, limits);
        client.query(statement as never);
        return await statement.done;
      }),
    commit: () => attempt(async () => void (await client.query("commit"))),
    close,
  };
}

function asRemote(error: unknown): unknown {
  if (error instanceof DatabaseError) return new RemoteError(error.code ?? "", error.message, { cause: error });
  const message = error instanceof Error ? error.message : "";
  // pg reports these errors only by their message.
  if (message.startsWith("The server does not support SSL"))
    return new RemoteError("", "the server does not speak TLS");
  return error;
}
