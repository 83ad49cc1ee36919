import { isConnectionError } from "../stores/db.ts";
import { ConnectionLost } from "../stores/own-connection.ts";
import { UnsafeSession } from "../stores/session.ts";
import { CommandFailure, messageOf } from "./failure.ts";

/** Fails with the address, the reason and what helps if Postgres lets nobody in: the driver's words name neither. */
export async function namingPostgres<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
    // Imported only here: most commands never need it.
    const { addressOf, adviceOn } = await import("../services/system/checks/postgres.ts");
    const reason = `Postgres at ${addressOf(url)}: ${messageOf(error.cause)}. ${adviceOn(error.cause)}`;
    throw new CommandFailure(error.during === undefined ? reason : `${error.during}\n  because: ${reason}`);
  }
}

/** The same for work that uses nothing but a pool of connections. */
export function namingPostgresOfPool<T>(url: string, work: () => Promise<T>): Promise<T> {
  return namingPostgres(url, () =>
    work().catch((error: unknown) => {
      throw isUnreachable(error) ? new ConnectionLost(error) : error;
    }),
  );
}

/** Whether Postgres lets nobody in: it does not answer, or refuses the address, the user or the database. */
function isUnreachable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code = "" } = error as NodeJS.ErrnoException;
  // The error of a session that is not held to its rows gives its own advice; a file that is not there has the same code as a socket.
  if (error instanceof UnsafeSession || code === "ENOENT") return false;
  return isConnectionError(error) || ["28P01", "28000", "3D000"].includes(code);
}
