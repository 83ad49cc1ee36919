import { z } from "zod";
import type { ListedFile } from "../../domain/skills/bundle.ts";
import type { SkillRow, SkillVersionRow } from "../../stores/skills/skills.ts";
import { asDeclared } from "../http/as-declared.ts";

const contentHash = z.string().describe("SHA-256 in hexadecimal digits of the paths and contents of its files.");

export const skillSchema = z
  .object({
    skill_id: z.uuid(),
    name: z.string(),
    description: z
      .string()
      .describe(
        "What the skill does and when to use it. This field and the following ones are from the default version.",
      ),
    file_count: z.int(),
    size: z.int().describe("Total size of its files in bytes."),
    content_hash: contentHash,
    latest_version: z.int().min(1),
    default_version: z.int().min(1).describe("Version that flows use if they name none."),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "Skill" });

export const skillWithUsersSchema = skillSchema
  .extend({
    used_by: z
      .array(z.object({ project_id: z.uuid(), name: z.string() }))
      .describe("Up to 100 projects whose published flow uses the skill."),
  })
  .meta({ id: "SkillWithUsers" });

export const skillVersionSchema = z
  .object({
    skill_id: z.uuid(),
    version: z.int().min(1),
    name: z.string(),
    description: z.string(),
    license: z.string().nullable(),
    compatibility: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    allowed_tools: z.array(z.string()),
    file_count: z.int(),
    size: z.int().describe("Total size of its files in bytes."),
    content_hash: contentHash,
    created_by: z.uuid().nullable().describe("ID of the user or API key."),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "SkillVersion" });

export const skillVersionWithFilesSchema = skillVersionSchema
  .extend({
    instructions: z.string().describe("The Markdown of its SKILL.md, without the front matter."),
    files: z.array(z.object({ path: z.string(), size: z.int(), sha256: z.string() })),
  })
  .meta({ id: "SkillVersionWithFiles" });

export const presentSkill = (skill: SkillRow) => asDeclared(skillSchema, skill);

export function presentSkillVersion(version: SkillVersionRow): z.infer<typeof skillVersionSchema> {
  return asDeclared(skillVersionSchema, { ...version, file_count: version.files.length });
}

export function presentFiles(files: readonly ListedFile[]): z.infer<typeof skillVersionWithFilesSchema>["files"] {
  return files.map(({ path, size, sha256 }) => ({ path, size, sha256 }));
}
