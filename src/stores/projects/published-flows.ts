import type { NamedFlow } from "../../domain/flow/io/tool-names.ts";
import { PRODUCTION } from "../../domain/projects/environments.ts";
import type { Db } from "../db.ts";
import { DEFINITION, type FlowVersion } from "./flow-versions.ts";

/** SQL: the version of project `p` in the environment named by a parameter; null if it has none there. */
const versionIn = (name: `$${number}`): string => `case when ${name}::text = '${PRODUCTION}' then p.published_version
  else (select e.version from environments e where e.project_id = p.project_id and e.name = ${name}::text) end`;
const LIVE = "p.org_id = current_org() and p.deleted_at is null";

/** The flows that have a version in an environment, all or those with these IDs, ordered by ID. */
export function flowsIn(db: Db, environment: string, projectIds: readonly string[] | null): Promise<NamedFlow[]> {
  return db.query(
    `select p.project_id, p.name from projects p where ${LIVE} and ${versionIn("$2")} is not null
      and ($1::uuid[] is null or p.project_id = any ($1::uuid[])) order by p.project_id`,
    [projectIds, environment],
  );
}

export type PublishedFlow = NamedFlow & Pick<FlowVersion, "version" | "content_hash" | "definition">;

/** Those of these flows that have a version in an environment, with its definition, ordered by ID. */
export function definitionsIn(db: Db, environment: string, projectIds: readonly string[]): Promise<PublishedFlow[]> {
  return db.query(
    `select p.project_id, p.name, v.version, v.content_hash, ${DEFINITION}
      from projects p join flow_versions v on v.project_id = p.project_id and v.version = ${versionIn("$2")}
      where ${LIVE} and p.project_id = any ($1::uuid[]) order by p.project_id`,
    [projectIds, environment],
  );
}
