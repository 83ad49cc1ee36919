import { skillOperations } from "./skills.ts";
import { skillVersionOperations } from "./skill-versions.ts";

/** The operations of skills. */
export const skills = [...skillOperations, ...skillVersionOperations];
