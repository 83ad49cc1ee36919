import type { AuditedRequest } from "../audit/audit.ts";
import type { ProblemCode } from "../errors.ts";
import type { JsonObject } from "../json.ts";

/** The input of the workflow that checks a connection. */
export interface CheckInput {
  readonly org_id: string;
  readonly connection_id: string;
  /** The task queue of the workflow's activity. */
  readonly queue: string;
}

/** The input of the workflow of an action run. */
export interface ActionRunInput {
  readonly org_id: string;
  readonly action_run_id: string;
  readonly timeout_seconds: number;
  /** The task queue of the workflow's activity. */
  readonly queue: string;
}

/** The options of a provider import. */
export interface ImportOptions {
  readonly provider_id: string;
  /** Whether the caller chose the ID, so that an existing provider with this ID may be replaced. */
  readonly named: boolean;
  /** Whether nothing is written. */
  readonly dry_run: boolean;
  /** Whether the import may remove actions that published flows use. */
  readonly force: boolean;
  /** Whether an admin has approved the server's changed and new tools. */
  readonly accept_changes: boolean;
  /** Whether an admin trusts the server's statements about its tools' effects; null keeps the earlier decision, which is initially no. */
  readonly trust_annotations: boolean | null;
}

/** The input of the workflow that imports the tools of an MCP server. */
export interface ToolsImportInput extends ImportOptions {
  readonly org_id: string;
  /** Replaces the server's own name; null keeps that. */
  readonly name: string | null;
  readonly url: string;
  readonly connection_id: string | null;
  /** Whether the connection was created for this import, so that it is deleted if the import fails. */
  readonly new_connection: boolean;
  /** Absent if an older API process started the import, because that writes to the audit log itself. */
  readonly audited?: AuditedRequest;
  /** The task queue of the workflow's activity. */
  readonly queue: string;
}

/** The changes of an import to the existing provider, by action ID. */
export interface ImportPreview {
  readonly added: string[];
  readonly changed: string[];
  readonly removed: string[];
  /** The published flows that use changed or removed actions. */
  readonly used_by: Array<{
    readonly project_id: string;
    readonly name: string;
    readonly action_ids: readonly string[];
  }>;
  /** Details of some changed actions: the fields that differ, and the description for models. */
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
  /** Number of actions. */
  readonly operations: number;
}

/** The result for the caller that waits for the import of a server. Only that caller learns why it failed. */
export type ToolsImportResult =
  | { readonly ok: true; readonly imported: Imported }
  | { readonly ok: false; readonly loc: ReadonlyArray<string | number>; readonly message: string }
  /** The import conflicts with something that must not be undone without confirmation. */
  | {
      readonly ok: false;
      readonly problem: { readonly code: ProblemCode; readonly detail: string; readonly extra: JsonObject };
    };
