import type { AddCommands } from "../options.ts";
import { addSkillCommands } from "./skill-commands.ts";

/** The commands of skills. */
export const skills: AddCommands = [addSkillCommands];
