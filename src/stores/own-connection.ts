import { Client, DatabaseError } from "pg";
import { connectionTo } from "./connection-address.ts";
import { isConnectionError } from "./db.ts";

/** How long a server may take to accept a connection (ms), because a server that hangs would hold a command forever. */
const CONNECT_MS = 10_000;

/** Thrown if a connection cannot be made, or is lost. */
export class ConnectionLost extends Error {
  /** The driver's message, or the last message of the server. */
  override readonly cause: Error;
  /** What could not be completed; undefined if nothing was started. */
  readonly during: string | undefined;

  constructor(cause: Error, during?: string) {
    super("Could not connect to Postgres, or the connection was lost.", { cause });
    this.name = "ConnectionLost";
    this.cause = cause;
    this.during = during;
  }
}

/** Lets `work` use a dedicated connection outside the pools. Uncommitted work is rolled back when it ends. */
export async function withOwnConnection<T>(
  url: string,
  settings: { readonly application_name: string; readonly options?: string },
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ ...connectionTo(url), connectionTimeoutMillis: CONNECT_MS, ...settings });
  let lost: Error | undefined;
  // Without a listener, its error event would end the process. The running statement also rejects with the error.
  client.on("error", (error) => (lost ??= error));
  try {
    await client.connect().catch((error: Error) => {
      throw new ConnectionLost(error);
    });
    return await work(client);
  } catch (error) {
    if (error instanceof ConnectionLost) throw error;
    const reason = endedBy(error) ?? lost;
    if (reason === undefined) throw error;
    const { message, cause } = error as Error;
    throw new ConnectionLost(reason, cause === undefined ? undefined : message);
  } finally {
    await client.end();
  }
}

/** The server's own reason for ending a connection, found in an error or its causes. */
function endedBy(error: unknown): Error | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof DatabaseError && isConnectionError(each)) return each;
  return undefined;
}
