import type { Db } from "../../stores/db.ts";
import { findConnection, holdConnections } from "../../stores/providers/connections.ts";
import type { ConnectionRow } from "../../stores/providers/connections.ts";

/** Keeps a connection from being deleted until the transaction ends; null if there is none. */
export async function holdConnection(db: Db, connectionId: string): Promise<ConnectionRow | null> {
  const [held] = await holdConnections(db, [connectionId]);
  return held === undefined ? null : await findConnection(db, connectionId);
}
