import type { CreateOperations } from "../deps.ts";
import { createPageOperations } from "./pages.ts";
import { createPageGateOperations } from "./page-gate.ts";
import { createPageRunOperations } from "./page-runs.ts";
import { createPageDocumentOperations } from "./page-documents.ts";
import { createPageConversationOperations } from "./page-conversations.ts";

/** The operations of published pages. */
export const pages: CreateOperations = [
  createPageOperations,
  createPageGateOperations,
  createPageRunOperations,
  createPageDocumentOperations,
  createPageConversationOperations,
];
