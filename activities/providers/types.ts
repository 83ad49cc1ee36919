import type {
  ActionRunInput,
  CheckInput,
  ToolsImportInput,
  ToolsImportResult,
} from "../../src/domain/providers/jobs.ts";

/** Work with connections outside runs, on workers, with heartbeats. */
export interface ProviderActivities {
  checkConnection(input: CheckInput): Promise<void>;
  runAction(input: ActionRunInput): Promise<void>;
  /** Creates a provider from the tools of an MCP server. */
  importTools(input: ToolsImportInput): Promise<ToolsImportResult>;
}
