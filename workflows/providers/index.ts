import { providerActivities } from "../activities.ts";
import type {
  ActionRunInput,
  CheckInput,
  ToolsImportInput,
  ToolsImportResult,
} from "../../src/domain/providers/jobs.ts";

/** A check's requests, and an import, have shorter limits. */
const TIMEOUT_MS = 60_000;

/** Checks a connection's credential, and records the result in the connection's row. */
export async function checkConnection(input: CheckInput): Promise<void> {
  await providerActivities(input.queue, TIMEOUT_MS).checkConnection(input);
}

/** Creates a provider from the tools of an MCP server. */
export async function importTools(input: ToolsImportInput): Promise<ToolsImportResult> {
  return await providerActivities(input.queue, TIMEOUT_MS).importTools(input);
}

/** Executes an action run. Its inputs and result are only in its row, never in a workflow history. */
export async function runAction(input: ActionRunInput): Promise<void> {
  await providerActivities(input.queue, input.timeout_seconds * 1000).runAction(input);
}
