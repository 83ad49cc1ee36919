import { skillOperations } from "./skills.ts";
import { skillVersionOperations } from "./skill-versions.ts";

export const skills = [...skillOperations, ...skillVersionOperations];
