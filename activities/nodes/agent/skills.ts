import type { Json, JsonObject } from "../../../src/domain/json.ts";
import { SKILL_TOOLS } from "../../../src/domain/models/agent.ts";
import { inputsOf } from "../../../src/domain/providers/action.ts";
import { NodeFailure } from "../../../src/domain/runs/failure.ts";
import { SKILL_FILE } from "../../../src/domain/skills/bundle.ts";
import type { FoundTool } from "../../../src/services/models/find-tools.ts";
import type { Parts } from "../../../src/services/parts.ts";
import { loadSkill, type LoadedSkill } from "../../../src/services/skills/load-skill.ts";

/** A skill of a node, in the version that all its steps use. */
export interface PinnedSkill {
  readonly skill_id: string;
  readonly version: number;
  readonly content_hash: string;
  readonly name: string;
  readonly description: string;
}

const [LOAD, READ] = SKILL_TOOLS;
/** Longest file for a model (bytes). */
const MAX_FILE_BYTES = 256 * 1024;

/** The current versions of a node's skills. Throws NodeFailure if one does not exist. */
export async function pinSkills(
  deps: Parts<"db" | "blobs">,
  orgId: string,
  references: readonly string[],
): Promise<PinnedSkill[]> {
  return Promise.all(
    references.map(async (reference) => {
      const { skill_id, version, content_hash, name, description } = await requireSkill(deps, orgId, reference);
      return { skill_id, version, content_hash, name, description };
    }),
  );
}

/** The part of a model's instructions that lists its skills. */
export function skillsText(skills: readonly PinnedSkill[]): string {
  const list = skills.map(({ name, description }) => `- ${name}: ${description}`).join("\n");
  return `You have these skills. Before you do what one of them is for, read it with ${LOAD}, and its files with ${READ} where it refers to them.\n${list}`;
}

/** The tools that read skills. */
export function skillTools(skills: readonly PinnedSkill[]): FoundTool[] {
  if (skills.length === 0) return [];
  const skill = { type: "string", enum: skills.map(({ name }) => name) };
  const path = { type: "string", minLength: 1, description: "As load_skill lists it" };
  const common = { tool: null, type: "llm", approval: false } as const;
  return [
    {
      ...common,
      name: LOAD,
      description: "Reads a skill: its instructions, and which files it has",
      input_schema: inputsOf({ skill }),
    },
    { ...common, name: READ, description: "Reads a file of a skill", input_schema: inputsOf({ skill, path }) },
  ];
}

/** The skill version that a call of a skill tool reads, as "id@version". */
export function skillOf(skills: readonly PinnedSkill[], name: string, input: Json): string | undefined {
  if (name !== LOAD && name !== READ) return undefined;
  const wanted = (input as JsonObject)["skill"];
  const found = skills.find((each) => each.name === wanted);
  return found && `${found.skill_id}@${found.version}`;
}

/** The result of a call of a skill tool. Throws NodeFailure. */
export async function readSkill(
  deps: Parts<"db" | "blobs">,
  orgId: string,
  reference: string,
  { path }: JsonObject,
): Promise<Json> {
  const skill = await requireSkill(deps, orgId, reference);
  const { name, version, content_hash, files } = skill;
  if (typeof path !== "string") {
    const others = files.map((file) => file.path).filter((each) => each !== SKILL_FILE);
    return { name, version, content_hash, instructions: await skill.instructions(), files: others };
  }
  const listed = files.find((file) => file.path === path);
  if (!listed) throw new NodeFailure("skill_file_not_found", `The skill ${name} has no file ${path}.`);
  const tooLong = `The file has ${listed.size} bytes; a model can read at most ${MAX_FILE_BYTES}.`;
  if (listed.size > MAX_FILE_BYTES) throw new NodeFailure("skill_file_too_long", tooLong);
  const bytes = (await skill.read(path)) ?? Buffer.alloc(0);
  try {
    return { path, content: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    throw new NodeFailure("skill_file_is_no_text", `The file ${path} of the skill ${name} is not text.`);
  }
}

async function requireSkill(
  { db, blobs }: Parts<"db" | "blobs">,
  orgId: string,
  reference: string,
): Promise<LoadedSkill> {
  const skill = await loadSkill({ db, blobs }, orgId, reference);
  if (!skill) throw new NodeFailure("skill_not_found", `The skill ${reference} no longer exists.`);
  return skill;
}
