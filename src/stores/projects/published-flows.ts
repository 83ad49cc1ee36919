import type { FlowDefinition } from "../../domain/flow/definition/definition.ts";
import type { NamedFlow } from "../../domain/flow/io/tool-names.ts";
import type { Db } from "../db.ts";
import { DEFINITION } from "./flow-versions.ts";

const PUBLISHED = "p.org_id = current_org() and p.deleted_at is null and p.published_version is not null";

/** The published flows, all or those with these IDs, ordered by ID. */
export function publishedFlows(db: Db, projectIds: readonly string[] | null): Promise<NamedFlow[]> {
  return db.query<NamedFlow>(
    `select p.project_id, p.name from projects p where ${PUBLISHED} and ($1::uuid[] is null or p.project_id = any ($1::uuid[]))
      order by p.project_id`,
    [projectIds],
  );
}

export interface PublishedFlow extends NamedFlow {
  readonly version: number;
  readonly content_hash: string;
  readonly definition: FlowDefinition;
}

/** The published ones of these flows with their definitions, ordered by ID. */
export function publishedDefinitions(db: Db, projectIds: readonly string[]): Promise<PublishedFlow[]> {
  return db.query<PublishedFlow>(
    `select p.project_id, p.name, v.version, v.content_hash, ${DEFINITION}
      from projects p join flow_versions v on v.project_id = p.project_id and v.version = p.published_version
      where ${PUBLISHED} and p.project_id = any ($1::uuid[]) order by p.project_id`,
    [projectIds],
  );
}
