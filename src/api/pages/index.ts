import { pageOperations } from "./pages.ts";
import { pageGateOperations } from "./page-gate.ts";
import { pageRunOperations } from "./page-runs.ts";
import { pageDocumentOperations } from "./page-documents.ts";
import { pageConversationOperations } from "./page-conversations.ts";

/** The operations of published pages. */
export const pages = [
  ...pageOperations,
  ...pageGateOperations,
  ...pageRunOperations,
  ...pageDocumentOperations,
  ...pageConversationOperations,
];
