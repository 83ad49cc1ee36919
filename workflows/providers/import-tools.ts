import { providerActivities } from "../activities.ts";
import type { ToolsImportInput, ToolsImportResult } from "../../src/domain/providers/jobs.ts";

/** The import itself has a shorter limit. */
const IMPORT_TIMEOUT_MS = 60_000;

/** Creates a provider from the tools of an MCP server. */
export async function importTools(input: ToolsImportInput): Promise<ToolsImportResult> {
  return await providerActivities(input.queue, IMPORT_TIMEOUT_MS).importTools(input);
}
