import type { AuditedRequest } from "../audit/audit.ts";
import type { ProblemCode } from "../errors.ts";
import type { JsonObject } from "../json.ts";

/** The input of the workflow that checks a connection. */
export interface CheckInput {
  readonly org_id: string;
  readonly connection_id: string;
  /** The task queue of its activity. */
  readonly queue: string;
}

/** The input of the workflow of an action run. */
export interface ActionRunInput {
  readonly org_id: string;
  readonly action_run_id: string;
  readonly timeout_seconds: number;
  /** The task queue of its activity. */
  readonly queue: string;
}

/** The request to import a provider. */
export interface ImportOptions {
  readonly provider_id: string;
  /** They have named it themselves: what is there under the id is meant. */
  readonly named: boolean;
  /** Nothing is written. */
  readonly dry_run: boolean;
  /** Actions that published flows use may go. */
  readonly force: boolean;
  /** An admin has approved changed and new tools of a server. */
  readonly accept_changes: boolean;
  /** An admin has said whether what a server says of its tools' effects is believed; null: as before, which is not at first. */
  readonly trust_annotations: boolean | null;
}

/** The input of the workflow that imports the tools of an MCP server. */
export interface ToolsImportInput extends ImportOptions {
  readonly org_id: string;
  /** In place of the server's own. */
  readonly name: string | null;
  readonly url: string;
  readonly connection_id: string | null;
  /** The connection was made for this import and is removed if the import fails. */
  readonly new_connection: boolean;
  /** Absent of an api of before, which writes to the audit log itself. */
  readonly audited?: AuditedRequest;
  /** The task queue of its activity. */
  readonly queue: string;
}

/** What an import does, or would do, to the provider that there is, by the ids of actions. */
export interface ImportPreview {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
  /** The published flows that use actions that change or go. */
  readonly used_by: Array<{
    readonly project_id: string;
    readonly name: string;
    readonly action_ids: readonly string[];
  }>;
  /** How actions change, some of them: the members that differ, and what models read. */
  readonly differences: Array<{
    readonly action_id: string;
    readonly members: readonly string[];
    readonly description: { readonly before: string | null; readonly after: string | null };
  }>;
}

/** The outcome of an import; `stored` is false for a dry run. */
export interface Imported extends ImportPreview {
  readonly stored: boolean;
  readonly created: boolean;
  /** How many actions it has. */
  readonly operations: number;
}

/** The same for the caller that waits for the import of a server. Only that caller learns why it failed. */
export type ToolsImportResult =
  | { readonly ok: true; readonly imported: Imported }
  | { readonly ok: false; readonly loc: ReadonlyArray<string | number>; readonly message: string }
  /** There is something that it would undo. */
  | {
      readonly ok: false;
      readonly problem: { readonly code: ProblemCode; readonly detail: string; readonly extra: JsonObject };
    };
