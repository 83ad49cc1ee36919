import { knowledgeBaseOperations } from "./knowledge-bases.ts";
import { resourceOperations } from "./resources.ts";
import { syncOperations } from "./syncs.ts";

export const knowledge = [...knowledgeBaseOperations, ...resourceOperations, ...syncOperations];
