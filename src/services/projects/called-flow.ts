import { describeFlow } from "../../domain/flow/io/io-schema.ts";
import type { FlowIo } from "../../domain/flow/io/io-schema.ts";
import type { Db } from "../../stores/db.ts";
import { findFlowVersion } from "../../stores/projects/flow-versions.ts";
import { findProject } from "../../stores/projects/projects.ts";
import type { Project } from "../../stores/projects/projects.ts";

/**
 * The project of a called flow, with the flow's inputs and outputs. Null if the project is not found or has no
 * published version.
 */
export async function findCalledFlow(
  db: Db,
  { project_id, version }: { readonly project_id: string; readonly version: number },
  limits: { readonly max_input_bytes: number },
): Promise<{ readonly project: Project; readonly io: FlowIo } | null> {
  const project = await findProject(db, project_id);
  const wanted = version === -1 ? project?.published_version : version;
  const found = typeof wanted === "number" ? await findFlowVersion(db, project_id, wanted) : null;
  if (!project || !found) return null;
  const { definition, content_hash } = found;
  const identity = { project_id, name: project.name, version: found.version, content_hash };
  return { project, io: describeFlow(definition, identity, limits) };
}
