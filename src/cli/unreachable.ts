import { isConnectionError } from "../stores/db.ts";
import { ConnectionLost } from "../stores/own-connection.ts";
import { UnsafeSession } from "../stores/session.ts";
import { CommandFailure, messageOf } from "./failure.ts";

/** Fails with the address, the reason and a fix if Postgres refuses the connection, because the driver's message names neither. */
export async function namingPostgres<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
    // Imported only here, because most commands never need it.
    const { addressOf, adviceOn } = await import("../services/system/checks/postgres.ts");
    const reason = `Postgres at ${addressOf(url)}: ${messageOf(error.cause)}. ${adviceOn(error.cause)}`;
    throw new CommandFailure(error.during === undefined ? reason : `${error.during}\n  because: ${reason}`);
  }
}

/** Runs work that uses only a pool of connections, with the same errors. */
export function namingPostgresOfPool<T>(url: string, work: () => Promise<T>): Promise<T> {
  return namingPostgres(url, () =>
    work().catch((error: unknown) => {
      throw isUnreachable(error) ? new ConnectionLost(error) : error;
    }),
  );
}

/** Whether Postgres is unusable: it does not respond, or refuses the address, the user or the database. */
function isUnreachable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code = "" } = error as NodeJS.ErrnoException;
  // An UnsafeSession gives its own advice; ENOENT may come from a missing file as well as from a missing socket.
  if (error instanceof UnsafeSession || code === "ENOENT") return false;
  return isConnectionError(error) || ["28P01", "28000", "3D000"].includes(code);
}
