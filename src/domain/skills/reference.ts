import { isUuid } from "../uuid.ts";

/** A version of a skill as a user writes it. */
export type SkillVersionName = number | "latest" | "default";

/** A version's number, or a name for a version. */
export const VERSION_PATTERN = /^(latest|default|[1-9]\d{0,8})$/;

export function readVersionName(text: string): SkillVersionName {
  return text === "latest" || text === "default" ? text : Number(text);
}

/** Reads `id` (its default version) or `id@version`; null for anything else. */
export function readSkillReference(text: string): { skill_id: string; version: SkillVersionName } | null {
  const [id = "", version = "default", ...more] = text.split("@");
  if (more.length > 0 || !isUuid(id) || !VERSION_PATTERN.test(version)) return null;
  return { skill_id: id.toLowerCase(), version: readVersionName(version) };
}
