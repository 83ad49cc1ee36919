import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import type { presentSkill } from "../../api/skills/skills.ts";
import { ApiRefusal } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { addDelete, addList } from "../listing.ts";
import { apiCommand, openApi, show } from "../options.ts";
import { openUploadFile } from "../upload-file.ts";

type Skill = ReturnType<typeof presentSkill>;

const PATH = "/v2/skills";
/** Files that the system or version control adds to a folder, and that are not part of a skill. */
const LEFT_OUT = [".git", ".DS_Store"];

/** `skills push|list|delete`. */
export function addSkillCommands(program: Command): void {
  const skills = program.command("skills").description("manage skills: instructions with files, for models");

  apiCommand(skills, "push", "create a skill from a folder, or a new version of it")
    .argument("<folder>")
    .option("--default", "make this version the default version")
    .action(async (folder, options) => {
      const { api } = openApi(options);
      const form = await formOf(folder);
      const { skill_id, version } = await api
        .postForm<Skill>(PATH, form)
        .then((skill) => ({ skill_id: skill.skill_id, version: 1 }))
        .catch((error: unknown) => {
          const id = takenBy(error);
          return api.postForm<{ skill_id: string; version: number }>(`${PATH}/${id}/versions`, form);
        });
      const change = options.default === true ? { default_version: version } : {};
      const skill = await api.patch<Skill>(`${PATH}/${skill_id}`, change);
      show(options.json, { ...skill, version }, () => [
        `${skill_id}  ${skill.name}, version ${version} (default version: ${skill.default_version})`,
      ]);
    });

  addList<Skill>(skills, "skills", PATH, {
    SKILL: ({ skill_id }) => skill_id,
    NAME: ({ name }) => name,
    DEFAULT: ({ default_version }) => String(default_version),
    LATEST: ({ latest_version }) => String(latest_version),
    FILES: ({ file_count }) => String(file_count),
    BYTES: ({ size }) => String(size),
  });
  addDelete(skills, "a skill", PATH);
}

/** The ID of the existing skill with this name; rethrows any other error. */
function takenBy(error: unknown): string {
  const { code, skill_id } = (error instanceof ApiRefusal ? error.body : {}) as { code?: string; skill_id?: string };
  if (code !== "name_taken" || skill_id === undefined) throw error;
  return skill_id;
}

/** The files of a folder, each with its relative path. Throws a CommandFailure for a link and for files that cannot be read. */
async function formOf(folder: string): Promise<FormData> {
  const form = new FormData();
  for (const path of await filesBelow(folder)) {
    const { content } = await openUploadFile(path);
    form.append("files[]", content, relative(folder, path).split(sep).join("/"));
  }
  return form;
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: Error) => {
    throw new CommandFailure(`Cannot read ${folder}: ${error.message}`, 2, { cause: error });
  });
  const found: string[] = [];
  for (const entry of entries.filter(({ name }) => !LEFT_OUT.includes(name))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await filesBelow(path)));
    else if (entry.isFile()) found.push(path);
    else throw new CommandFailure(`${path} is a link or a device: a skill can contain only files.`, 2);
  }
  return found;
}
