import { isUuid } from "../../domain/uuid.ts";
import type { Db } from "../../stores/db.ts";
import { findConnection, holdConnections, type ConnectionRow } from "../../stores/providers/connections.ts";

/** Which of these connections do not exist. The others cannot be deleted until the transaction ends. */
export async function missingConnections(db: Db, connectionIds: readonly string[]): Promise<ReadonlySet<string>> {
  // Locked in the order of IDs, so that two transactions never deadlock.
  const ids = [...new Set(connectionIds)].toSorted();
  const askable = ids.filter(isUuid);
  const held = new Set(askable.length === 0 ? [] : await holdConnections(db, askable));
  return new Set(ids.filter((id) => !held.has(id)));
}

/** Why a connection cannot replace another one; null if it can. A connection that was deleted can be replaced by any. */
export async function whyNotInPlaceOf(db: Db, from: string, to: string): Promise<string | null> {
  const [before, after] = [await findConnection(db, from), await findConnection(db, to)];
  if (before === null || after === null || before.provider_id === after.provider_id) return null;
  return `The connection must be of provider ${before.provider_id}; it is of ${after.provider_id}`;
}

/** Keeps a connection from being deleted until the transaction ends; null if there is none. */
export async function holdConnection(db: Db, connectionId: string): Promise<ConnectionRow | null> {
  const [held] = await holdConnections(db, [connectionId]);
  return held === undefined ? null : await findConnection(db, connectionId);
}
