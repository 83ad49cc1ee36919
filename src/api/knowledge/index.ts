import type { CreateOperations } from "../deps.ts";
import { createKnowledgeBaseOperations } from "./knowledge-bases.ts";
import { createResourceOperations } from "./resources.ts";
import { createSyncOperations } from "./syncs.ts";

/** The operations of knowledge bases. */
export const knowledge: CreateOperations = [
  createKnowledgeBaseOperations,
  createResourceOperations,
  createSyncOperations,
];
