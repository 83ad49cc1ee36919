import { notFound } from "../../domain/errors.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import { deleteBlobs } from "../../platform/blobs/delete-blobs.ts";
import type { Database } from "../../stores/db.ts";
import {
  listDeletedBases,
  listRetiredIndexes,
  markResourcesOfDeletedBase,
  removeKnowledgeBase,
  removeRetiredChunks,
  removeRetiredIndex,
  unpublishResource,
} from "../../stores/knowledge/remove-chunks.ts";
import { dropHnsw } from "../../stores/knowledge/hnsw.ts";
import { retireIndexes } from "../../stores/knowledge/indexes.ts";
import {
  lockKnowledgeBase,
  markKnowledgeBaseDeleted,
  type KnowledgeBaseRow,
} from "../../stores/knowledge/knowledge-bases.ts";
import { recordDeleted, type RowAudit } from "../audit/audit.ts";
import { lockResource } from "../../stores/knowledge/resource-ingest.ts";
import {
  findResource,
  listDeletedResources,
  markResourceDeleted,
  removeResource,
  type ResourceRow,
} from "../../stores/knowledge/resources.ts";
import { refuseWhileUsed } from "../projects/flow-references.ts";
import { findActiveSync } from "../../stores/knowledge/syncs.ts";
import { recordSyncEnd } from "./sync.ts";
import { requireKnowledgeBase } from "./knowledge-bases.ts";
import { removeRemains } from "./index-resource.ts";

const REMOVED_AT_ONCE = 500;
const LISTED = 100;

interface RemoveDeps {
  readonly database: Database;
  readonly blobs: Pick<BlobStore, "delete">;
}

/**
 * Deletes a resource: no query that starts after this finds it. Also removes its chunks and blobs; purgeKnowledge
 * removes what a failure leaves behind. False if it does not exist.
 */
export async function deleteResource(
  deps: RemoveDeps,
  orgId: string,
  knowledgeBaseId: string,
  resourceId: string,
  audited?: RowAudit<ResourceRow>,
): Promise<boolean> {
  const deleted = await deps.database.orgTransaction(orgId, async (db) => {
    const row = (await lockResource(db, knowledgeBaseId, resourceId))
      ? await findResource(db, knowledgeBaseId, resourceId)
      : null;
    if (row === null || !(await markResourceDeleted(db, knowledgeBaseId, resourceId))) return false;
    if (audited !== undefined) await recordDeleted(db, audited, row);
    await unpublishResource(db, resourceId);
    return true;
  });
  if (deleted) await purgeResource(deps, orgId, resourceId);
  return deleted;
}

/**
 * Deletes a knowledge base for all later requests; purgeKnowledge removes its rows. Throws 404, and 409 `in_use` if
 * published flows search it.
 */
export async function deleteKnowledgeBase(
  { database }: Pick<RemoveDeps, "database">,
  orgId: string,
  knowledgeBaseId: string,
  audited: RowAudit<KnowledgeBaseRow>,
): Promise<void> {
  await database.orgTransaction(orgId, async (db) => {
    if (!(await lockKnowledgeBase(db, knowledgeBaseId))) throw notFound("knowledge base");
    await refuseWhileUsed(db, "knowledge_base", knowledgeBaseId);
    const sync = await findActiveSync(db, knowledgeBaseId);
    if (sync !== null) await recordSyncEnd(db, sync, "cancelled", null);
    await recordDeleted(db, audited, await requireKnowledgeBase(db, knowledgeBaseId));
    await markKnowledgeBaseDeleted(db, knowledgeBaseId);
    await retireIndexes(db, knowledgeBaseId);
  });
}

/**
 * Removes the remains of deleted resources and knowledge bases and of retired indexes: rows in batches, and blobs. For
 * housekeeping. Several processes may call it at the same time, and again after any failure. Returns the number of
 * removed resources.
 */
export async function purgeKnowledge(deps: RemoveDeps): Promise<number> {
  const { database } = deps;
  const bases = await database.system((db) => listDeletedBases(db, LISTED));
  for (const { org_id, knowledge_base_id } of bases) {
    await database.org(org_id, (db) => markResourcesOfDeletedBase(db, knowledge_base_id));
    await database.org(org_id, (db) => retireIndexes(db, knowledge_base_id));
  }
  for (const index of await database.system((db) => listRetiredIndexes(db, LISTED))) {
    const { org_id, index_no } = index;
    if (index.has_hnsw) await database.system((db) => dropHnsw(db, index_no));
    let removed: number;
    do {
      removed = await database.orgTransaction(org_id, (db) => removeRetiredChunks(db, index_no, REMOVED_AT_ONCE));
    } while (removed === REMOVED_AT_ONCE);
    await database.orgTransaction(org_id, (db) => removeRetiredIndex(db, index_no));
  }
  // Errors are thrown at the end, so that one resource that cannot be purged does not block the others.
  const failures: unknown[] = [];
  let total = 0;
  for (;;) {
    const resources = await database.system((db) => listDeletedResources(db, LISTED));
    let removed = 0;
    for (const each of resources) {
      try {
        if (await purgeResource(deps, each.org_id, each.resource_id)) removed += 1;
      } catch (error) {
        failures.push(error);
      }
    }
    total += removed;
    if (removed < LISTED) break;
  }
  for (const { org_id, knowledge_base_id } of bases) {
    await database.org(org_id, (db) => removeKnowledgeBase(db, knowledge_base_id));
  }
  if (failures.length > 0) throw failures[0];
  return total;
}

async function purgeResource(deps: RemoveDeps, orgId: string, resourceId: string): Promise<boolean> {
  await removeRemains(deps, orgId, resourceId);
  const blobs = await deps.database.org(orgId, (db) => removeResource(db, resourceId));
  await deleteBlobs(deps.blobs, blobs ?? []);
  return blobs !== null;
}
