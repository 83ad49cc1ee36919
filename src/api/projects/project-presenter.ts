import { z } from "zod";
import type { Project } from "../../stores/projects/projects.ts";
import { asDeclared } from "../http/as-declared.ts";

export const projectSchema = z
  .object({
    project_id: z.uuid().describe("ID of the project and of its flow."),
    name: z.string(),
    description: z.string(),
    published_version: z.int().nullable().describe("The version that -1 means; `null` if no version is published."),
    latest_version: z.int().describe("Number of the latest version; 0 if there is none."),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "Project" });

export const projectWithUsersSchema = projectSchema
  .extend({
    used_by: z
      .array(z.object({ project_id: z.uuid(), name: z.string() }))
      .optional()
      .describe(
        "Only with `expand=used_by`: the first 100 projects whose published flow calls this one, of the ones that the caller can see.",
      ),
  })
  .meta({ id: "ProjectWithUsers" });

export const presentProject = (project: Project) => asDeclared(projectSchema, project);
