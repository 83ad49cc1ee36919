import type { Metadata } from "../../domain/knowledge/metadata.ts";
import { columns, type NameOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import type { NewResource, ResourceRow } from "./resources.ts";

/**
 * Blocks other requests with the same external id, content or address in a knowledge base until the transaction ends.
 */
export async function lockResourceIdentity(db: Db, knowledgeBaseId: string, identity: string): Promise<void> {
  await db.query("select pg_advisory_xact_lock(hashtextextended(array_to_string($1::text[], chr(1)), 0))", [
    ["resource", knowledgeBaseId, identity],
  ]);
}

/** The id of the resource with this external id; null if there is none. */
export async function findByExternalId(db: Db, knowledgeBaseId: string, externalId: string): Promise<string | null> {
  return db.value(
    `select resource_id from knowledge_resources
      where org_id = current_org() and knowledge_base_id = $1::uuid and external_id = $2::text and status <> 'pending_delete'`,
    [knowledgeBaseId, externalId],
  );
}

/** The id of the oldest resource with the same content or, if an address is given, from it; null if there is none. */
export async function findSame(
  db: Db,
  knowledgeBaseId: string,
  same: Pick<NewResource, "content_hash" | "source_url">,
): Promise<string | null> {
  return db.value(
    `select resource_id from knowledge_resources
      where org_id = current_org() and knowledge_base_id = $1::uuid and status <> 'pending_delete'
        and case when $3::text is null then content_hash = $2::text else source_url = $3::text end
      order by resource_id limit 1`,
    [knowledgeBaseId, same.content_hash, same.source_url],
  );
}

/** Changes the description of a resource whose content stays; returns the time of the change. */
export async function updateMetadata(
  db: Db,
  resourceId: string,
  change: { readonly resource_path: string; readonly user_metadata: Metadata },
): Promise<string | null> {
  return db.value(
    `update knowledge_resources set resource_path = $2::text, user_metadata = $3::jsonb, modified_at = now()
      where org_id = current_org() and resource_id = $1::uuid returning modified_at`,
    [resourceId, change.resource_path, jsonb(change.user_metadata)],
  );
}

/** Records that a person added a resource that a source lists, so that it stays when the source no longer lists it. */
export async function keepWithoutSource(db: Db, resourceId: string): Promise<void> {
  await db.query(
    "update knowledge_resources set from_source = false where org_id = current_org() and resource_id = $1::uuid",
    [resourceId],
  );
}

/** Locks a resource until the transaction ends; false if there is none. */
export async function lockResource(db: Db, knowledgeBaseId: string, resourceId: string): Promise<boolean> {
  return db.any(
    `select resource_id from knowledge_resources
      where org_id = current_org() and knowledge_base_id = $1::uuid and resource_id = $2::uuid and status <> 'pending_delete' for no key update`,
    [knowledgeBaseId, resourceId],
  );
}

/** Starts to index a resource again from its source; returns its revision, or null if it is being deleted. */
export async function restartResource(db: Db, resourceId: string): Promise<number | null> {
  return db.value(
    `update knowledge_resources set revision = revision + 1, status = 'pending', error = null, checked_at = now()
      where org_id = current_org() and resource_id = $1::uuid and status <> 'pending_delete' returning revision`,
    [resourceId],
  );
}

const CONTENT = columns(`content_hash text, content_mime text, size bigint, blob_key text, etag text,
  last_modified text`);

/** The fetched content of a resource, with the validators that its URL sent. */
export type FetchedContent = Pick<ResourceRow, NameOf<typeof CONTENT>>;

/** Records the bytes from a resource's URL; false if the resource is being deleted or `revision` is no longer the current one. */
export async function storeContent(
  db: Db,
  resourceId: string,
  revision: number,
  content: FetchedContent,
): Promise<boolean> {
  return db.any(
    `update knowledge_resources set status = 'resource', error = null, ${CONTENT.set(3)}, modified_at = now()
      where org_id = current_org() and resource_id = $1::uuid and revision = $2::int and status <> 'pending_delete'`,
    [resourceId, revision, ...CONTENT.values(content)],
  );
}

/** The current state of a resource, for its workflow; null if the resource or its knowledge base is deleted or being deleted. */
export async function findForIngest(db: Db, resourceId: string): Promise<ResourceRow | null> {
  return db.first(
    `select r.* from knowledge_resources r join knowledge_bases k using (knowledge_base_id)
      where r.org_id = current_org() and r.resource_id = $1::uuid and r.status <> 'pending_delete' and k.deleted_at is null`,
    [resourceId],
  );
}

/** The oldest resource of a URL, or null. */
export async function findByAddress(db: Db, knowledgeBaseId: string, address: string): Promise<ResourceRow | null> {
  return db.first(
    `select * from knowledge_resources where org_id = current_org() and knowledge_base_id = $1::uuid and status <> 'pending_delete'
      and source_url is not null and md5(source_url) = md5($2::text) and source_url = $2::text order by resource_id limit 1`,
    [knowledgeBaseId, address],
  );
}

/** Records the response of a resource's URL if the content is the same. */
export async function noteVersion(
  db: Db,
  resourceId: string,
  { etag, last_modified }: Pick<ResourceRow, "etag" | "last_modified">,
): Promise<void> {
  await db.query(
    `update knowledge_resources set etag = $2::text, last_modified = $3::text where org_id = current_org() and resource_id = $1::uuid`,
    [resourceId, etag, last_modified],
  );
}
