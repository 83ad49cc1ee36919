import { knowledgeBaseOperations } from "./knowledge-bases.ts";
import { resourceOperations } from "./resources.ts";
import { syncOperations } from "./syncs.ts";

/** The operations of knowledge bases. */
export const knowledge = [...knowledgeBaseOperations, ...resourceOperations, ...syncOperations];
