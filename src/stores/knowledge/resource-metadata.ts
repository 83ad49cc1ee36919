import type { MetadataSchema } from "../../domain/knowledge/metadata.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import type { ResourceRow } from "./resources.ts";

type Described = Pick<ResourceRow, "resource_id" | "resource_path" | "user_metadata">;

/** Resources after `after` that have a value in one of these fields, by ID, locked until the transaction ends. */
export async function pageWithFields(
  db: Db,
  knowledgeBaseId: string,
  fields: readonly string[],
  after: string | null,
  limit: number,
): Promise<Described[]> {
  return db.query(
    `select resource_id, resource_path, user_metadata from knowledge_resources
      where org_id = current_org() and knowledge_base_id = $1::uuid and status <> 'pending_delete'
        and user_metadata ?| $2::text[] and ($3::uuid is null or resource_id > $3::uuid)
      order by resource_id limit $4::int for no key update`,
    [knowledgeBaseId, fields, after, limit],
  );
}

/** Sets the metadata of these resources. Neither their content nor the time of its last change is affected. */
export async function setMetadata(
  db: Db,
  resources: ReadonlyArray<Pick<Described, "resource_id" | "user_metadata">>,
): Promise<void> {
  await db.query(
    `update knowledge_resources r set user_metadata = v.metadata::jsonb
      from unnest($1::uuid[], $2::text[]) as v (resource_id, metadata)
      where r.org_id = current_org() and r.resource_id = v.resource_id`,
    [resources.map((each) => each.resource_id), resources.map((each) => jsonb(each.user_metadata))],
  );
}

/**
 * The metadata fields that resources of a knowledge base may have, locked against changes until the transaction ends; null if the knowledge
 * base does not exist.
 */
export async function holdMetadataSchema(db: Db, knowledgeBaseId: string): Promise<MetadataSchema | null> {
  return db.value(
    `select user_metadata_schema from knowledge_bases
      where org_id = current_org() and knowledge_base_id = $1::uuid and deleted_at is null for share`,
    [knowledgeBaseId],
  );
}
