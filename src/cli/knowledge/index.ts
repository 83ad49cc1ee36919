import type { AddCommands } from "../options.ts";
import { addKnowledgeCommands } from "./knowledge-commands.ts";

/** The commands of knowledge bases. */
export const knowledge: AddCommands = [addKnowledgeCommands];
