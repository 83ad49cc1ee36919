import { invalid, Problem } from "../../domain/errors.ts";
import { readBucketSource } from "../../domain/knowledge/bucket-source.ts";
import type { Db } from "../../stores/db.ts";
import { basesOfConnection } from "../../stores/knowledge/knowledge-bases.ts";
import type { KnowledgeBaseRow } from "../../stores/knowledge/knowledge-bases.ts";
import { holdConnection } from "../providers/hold-connection.ts";

/** Knowledge bases that a refusal lists. */
const MAX_LISTED = 100;

/**
 * Throws 422 if a knowledge base cannot take its documents from this connection. The connection stays until the
 * transaction ends.
 */
export async function requireConnectionSources(
  db: Db,
  { connection_id, connection_source_ids }: Pick<KnowledgeBaseRow, "connection_id" | "connection_source_ids">,
): Promise<void> {
  if (connection_id === null) {
    if (connection_source_ids.length === 0) return;
    throw invalid(["body", "connection_source_ids"], "Sources of a connection need a connection_id");
  }
  const connection = await holdConnection(db, connection_id);
  if (connection === null) throw invalid(["body", "connection_id"], "There is no such connection");
  if (connection.provider_id !== "s3") {
    const message = `Files come from connections of provider s3; this one is of ${connection.provider_id}`;
    throw invalid(["body", "connection_id"], message);
  }
  for (const [at, source] of connection_source_ids.entries()) {
    if (readBucketSource(source) !== null) continue;
    const message = "bucket/prefix is expected, or the name of a bucket alone";
    throw invalid(["body", "connection_source_ids", at], message);
  }
}

/**
 * Throws 409 `in_use` if knowledge bases take documents from a connection that the transaction has locked for update.
 */
export async function refuseWhileSource(db: Db, connectionId: string): Promise<void> {
  const used_by = await basesOfConnection(db, connectionId, MAX_LISTED);
  const [first] = used_by;
  if (first === undefined) return;
  const detail = `The knowledge base ${first.knowledge_base_id} (${first.name}) takes documents from this connection${used_by.length > 1 ? ", and others do" : ""}. Change or delete that first.`;
  throw new Problem("in_use", detail, { extra: { used_by } });
}
