import { invalid, required } from "../../domain/errors.ts";
import type { Db } from "../../stores/db.ts";
import { findProjectInEnvironments } from "../../stores/projects/projects.ts";
import { environmentOf } from "./environment-pointers.ts";

/** Throws 422 at `body.environment` unless the project has this environment. */
export async function requireNamedEnvironment(db: Db, projectId: string, name: string): Promise<void> {
  const project = required(await findProjectInEnvironments(db, projectId), "project");
  if (environmentOf(project, name) === null)
    throw invalid(["body", "environment"], "The project does not have this environment");
}
