import { ValidationProblem, notFound, required } from "../../domain/errors.ts";
import { readMetadata } from "../../domain/knowledge/metadata.ts";
import type { Database } from "../../stores/db.ts";
import { lockResource, updateMetadata } from "../../stores/knowledge/resource-ingest.ts";
import { holdMetadataSchema } from "../../stores/knowledge/resource-metadata.ts";
import { findResource, type ResourceRow } from "../../stores/knowledge/resources.ts";
import { changeLocked } from "../change.ts";
import type { RowAudit } from "../audit/audit.ts";

/**
 * Changes to the description of a resource; its content is unchanged. Absent fields are unchanged, and a metadata field
 * that is null is removed.
 */
export interface ResourceChange {
  readonly name?: string | undefined;
  readonly user_metadata?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Changes the description of a resource; searches use it immediately. Calls `check` with the locked resource before it
 * changes anything. Throws 404, and 422 for metadata that does not fit the schema.
 */
export async function changeResource(
  database: Database,
  orgId: string,
  knowledgeBaseId: string,
  resourceId: string,
  { name, user_metadata = {} }: ResourceChange,
  check: (resource: ResourceRow) => void,
  audited: RowAudit<ResourceRow>,
): Promise<ResourceRow> {
  return await changeLocked(database, orgId, {
    async lock(db) {
      const schema = required(await holdMetadataSchema(db, knowledgeBaseId), "knowledge base");
      const isThere = await lockResource(db, knowledgeBaseId, resourceId);
      const found = isThere ? await findResource(db, knowledgeBaseId, resourceId) : null;
      if (found === null) throw notFound("resource");
      return { found, schema };
    },
    requireMatch: ({ found }) => check(found),
    audited: { ...audited, view: ({ found }) => audited.view(found) },
    async write(db, { found, schema }) {
      const { metadata, issues } = readMetadata(schema, user_metadata, ["body", "user_metadata"]);
      if (issues.length > 0) throw new ValidationProblem(issues);
      const kept = Object.entries(found.user_metadata).filter(([field]) => !Object.hasOwn(user_metadata, field));
      const change = {
        resource_path: name ?? found.resource_path,
        user_metadata: { ...Object.fromEntries(kept), ...metadata },
      };
      const modified_at = (await updateMetadata(db, resourceId, change)) ?? found.modified_at;
      return { ...found, ...change, modified_at };
    },
  });
}
