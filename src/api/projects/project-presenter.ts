import { z } from "zod";
import type { Project } from "../../stores/projects/projects.ts";
import { asDeclared } from "../http/as-declared.ts";

export const projectSchema = z
  .object({
    project_id: z.uuid().describe("Also the id of the project's flow."),
    name: z.string(),
    description: z.string(),
    published_version: z.int().nullable().describe("The version that -1 means; null while nothing is published."),
    latest_version: z.int().describe("0 while there is no version."),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "Project" });

export function presentProject(project: Project): z.infer<typeof projectSchema> {
  return asDeclared(projectSchema, project);
}
