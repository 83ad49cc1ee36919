import { invalid, Problem } from "../../domain/errors.ts";
import { bucketSourceProblem } from "../../domain/knowledge/bucket-source.ts";
import type { Db } from "../../stores/db.ts";
import { basesOfConnection, type KnowledgeBaseRow } from "../../stores/knowledge/knowledge-bases.ts";
import { holdConnection } from "../providers/hold-connections.ts";

/** Most knowledge bases that the 409 lists. */
const MAX_LISTED = 100;

/**
 * Throws 422 if a knowledge base cannot take its documents from this connection. The connection cannot be deleted until
 * the transaction ends.
 */
export async function requireConnectionSources(
  db: Db,
  { connection_id, connection_source_ids }: Pick<KnowledgeBaseRow, "connection_id" | "connection_source_ids">,
): Promise<void> {
  if (connection_id === null) {
    if (connection_source_ids.length === 0) return;
    throw invalid(["body", "connection_source_ids"], "connection_source_ids require a connection_id");
  }
  const connection = await holdConnection(db, connection_id);
  if (connection === null) throw invalid(["body", "connection_id"], "Connection not found");
  if (connection.provider_id !== "s3") {
    const message = `Files need a connection of provider s3; this connection is of ${connection.provider_id}`;
    throw invalid(["body", "connection_id"], message);
  }
  for (const [at, source] of connection_source_ids.entries()) {
    const problem = bucketSourceProblem(source);
    if (problem !== null) throw invalid(["body", "connection_source_ids", at], problem);
  }
}

/**
 * Throws 409 `in_use` if knowledge bases take documents from a connection that the transaction has locked for update.
 */
export async function refuseWhileSource(db: Db, connectionId: string): Promise<void> {
  const used_by = await basesOfConnection(db, connectionId, MAX_LISTED);
  const [first] = used_by;
  if (first === undefined) return;
  const detail = `The knowledge base ${first.knowledge_base_id} (${first.name}) ${used_by.length > 1 ? "and others use" : "uses"} this connection for its sources. Change or delete it first.`;
  throw new Problem("in_use", detail, { extra: { used_by } });
}
