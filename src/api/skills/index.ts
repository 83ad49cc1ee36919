import type { CreateOperations } from "../deps.ts";
import { createSkillOperations } from "./skills.ts";
import { createSkillVersionOperations } from "./skill-versions.ts";

/** The operations of skills. */
export const skills: CreateOperations = [createSkillOperations, createSkillVersionOperations];
